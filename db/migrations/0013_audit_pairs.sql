-- Two filters of the audit log together find their rows, too, without passing over those that match only one of them. What
-- else is filtered by (an entity's id, a request) has few rows, and needs no help of another index.
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_actor_entity_type_idx on audit_log (actor_user_id, entity_type, created_at desc, id desc, operation);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_writes_actor_operation_idx on audit_log_writes (actor_user_id, operation, created_at desc, id desc);
-- lint: allow create-index because a partitioned table cannot be indexed concurrently, and no release has an audit log yet
create index audit_log_writes_entity_type_operation_idx on audit_log_writes (entity_type, operation, created_at desc, id desc);
