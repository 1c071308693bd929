-- Ids cannot be made shorter; trying to took longer than writing them.
alter table export_job_products alter column product_ids set storage external;
