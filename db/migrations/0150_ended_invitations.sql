-- Invitations that ended before their time expired at that moment.
update invitations set expires_at = coalesce(revoked_at, updated_at)
where state = 'expired' and expires_at > coalesce(revoked_at, updated_at);
