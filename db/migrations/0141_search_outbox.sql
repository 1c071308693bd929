-- Workers look for changes by themselves: a transaction that makes one wakes nobody.
drop trigger if exists search_outbox_wake on search_outbox;
drop function if exists tg_search_outbox__wake();
-- lint: allow drop-column because only functions of the database read it, which are replaced in the same transaction
alter table search_outbox drop column wakes;
