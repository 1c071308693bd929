-- Since when the oldest change waits, in place of for how long: an answer that says the same as long as nothing happens.
alter type search_status_view drop attribute lag_seconds, add attribute waiting_since timestamptz;
comment on column search_status_view.waiting_since is 'Since when the oldest of them waits; null when there is none.';
