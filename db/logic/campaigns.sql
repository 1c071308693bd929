-- Campaigns: what is filled in, what may follow what, and the colours that are remembered.
create or replace function tg_campaigns__check() returns trigger as $$
begin
  if tg_op = 'INSERT' or new.author_user_id is distinct from old.author_user_id then
    if not exists (select from users u where u.id = new.author_user_id) then
      perform fail('OF400', 'authorUserId: there is no user with this id', '{"path": ["input", "authorUserId"]}');
    end if;
  end if;
  if tg_op = 'UPDATE' and new.status <> old.status and not (old.status, new.status) in (
    ('DRAFT', 'SCHEDULED'), ('SCHEDULED', 'DRAFT'), ('SCHEDULED', 'ACTIVE'), ('ACTIVE', 'PAUSED'), ('PAUSED', 'ACTIVE'),
    ('ACTIVE', 'COMPLETED'), ('PAUSED', 'COMPLETED'),
    ('DRAFT', 'CANCELLED'), ('SCHEDULED', 'CANCELLED'), ('ACTIVE', 'CANCELLED'), ('PAUSED', 'CANCELLED')
  ) then
    perform fail('OF409', format('A campaign cannot go from %s to %s', old.status, new.status),
      jsonb_build_object('path', array['input', 'status'], 'from', old.status, 'to', new.status));
  end if;
  if tg_op = 'UPDATE' and old.status in ('COMPLETED', 'CANCELLED')
    and (new.product_id, new.vintage, new.color, new.price, new.author_user_id, new.medium, new.scheduled_at)
      is distinct from (old.product_id, old.vintage, old.color, old.price, old.author_user_id, old.medium, old.scheduled_at)
    -- A product that is deleted lets go of its campaigns, ended ones too.
    and not (new.product_id is null and old.product_id is not null
      and not exists (select from products p where p.id = old.product_id))
  then
    perform fail('OF409', format('The campaign is %s: only its title and note can still be changed', old.status),
      jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__check is 'Holds a campaign to its states.';
select ensure_trigger('campaigns', '_200_check',
  'before insert or update on %TABLE% for each row execute function tg_campaigns__check()');

create or replace function tg_campaigns__remember_color() returns trigger as $$
begin
  -- Every update names the column: one that leaves the colour as it is uses it no more than before.
  if tg_op = 'INSERT' or new.color is distinct from old.color then
    -- Whoever has it locked takes it at this very moment, too: waiting would put all who choose a colour in one queue.
    update campaign_colors c set updated_at = clock_timestamp()
    where c.color = (select k.color from campaign_colors k where k.color = new.color for no key update skip locked);
    if not found and not exists (select from campaign_colors c where c.color = new.color) then
      insert into campaign_colors (color) values (new.color) on conflict do nothing;
    end if;
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__remember_color is 'Remembers the colours that campaigns take.';
select ensure_trigger('campaigns', '_500_remember_color',
  'after insert or update of color on %TABLE% for each row when (new.color is not null) execute function tg_campaigns__remember_color()');

-- Starts what is due. Whoever comes first changes the state, and those who come later find nothing to do; what a colleague is
-- changing at this moment is left to the next call.
create or replace function start_due_campaigns() returns integer as $$
declare
  v_count integer;
begin
  with due as (
    select c.id from campaigns c
    where c.status = 'SCHEDULED' and c.scheduled_at <= now()
    for update skip locked
  )
  update campaigns c set status = 'ACTIVE' from due where c.id = due.id;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function start_due_campaigns is 'Starts the scheduled campaigns whose time has come and returns how many.';
grant execute on function start_due_campaigns to office_worker;

-- A job for the very moment; campaigns of one moment share it. Beside it the schedule looks every minute.
create or replace function tg_campaigns__queue_start() returns trigger as $$
begin
  perform enqueue_job('start_campaigns', '{}', extract(epoch from new.scheduled_at)::text, new.scheduled_at);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__queue_start is 'Queues the start of a scheduled campaign.';
select ensure_trigger('campaigns', '_500_queue_start',
  'after insert or update of status, scheduled_at on %TABLE% for each row when (new.status = ''SCHEDULED'') execute function tg_campaigns__queue_start()');

-- Colours are kept in capitals, so that each is remembered once.
create or replace function campaign_product(product_id uuid) returns products as $$
declare
  v_product products;
begin
  select * into v_product from products p where p.id = campaign_product.product_id;
  if not found then
    perform fail('OF400', 'productId: there is no product with this id', '{"path": ["input", "productId"]}');
  end if;
  return v_product;
end;
$$ language plpgsql stable security definer set search_path from current;

create or replace function create_campaign(input campaigns, given text[]) returns campaigns as $$
declare
  v_input campaigns := create_campaign.input;
  v_product products;
  v_campaign campaigns;
begin
  perform require_permission('campaigns.create');
  if v_input.product_id is not null then
    v_product := campaign_product(v_input.product_id);
    if not 'vintage' = any (given) then
      v_input.vintage := v_product.vintage;
    end if;
    if not 'color' = any (given) then
      select w.color into v_input.color from wine_types w where w.id = v_product.wine_type_id;
    end if;
  end if;
  insert into campaigns (product_id, title, vintage, color, note, price, author_user_id, medium, scheduled_at, status)
  values (v_input.product_id, coalesce(tidy(v_input.title), ''), v_input.vintage, upper(v_input.color), tidy(v_input.note),
    coalesce(tidy(v_input.price), ''), v_input.author_user_id, v_input.medium, v_input.scheduled_at,
    coalesce(v_input.status, 'DRAFT'))
  returning * into v_campaign;
  return v_campaign;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_campaign is '@guard campaigns.create
Puts a campaign on the calendar. With a product, a `vintage` or `color` that is left out is taken from the product and its wine type; an explicit null stays null.';

create or replace function update_campaign(id uuid, input campaigns, given text[]) returns campaigns as $$
declare
  v_old campaigns;
  v_new campaigns;
  v_required text;
begin
  perform require_permission('campaigns.update');
  select * into v_old from campaigns c where c.id = update_campaign.id for update;
  if not found then
    perform fail('OF404', 'There is no campaign with this id', '{"path": ["id"]}');
  end if;
  foreach v_required in array array['title', 'price', 'author_user_id', 'medium', 'scheduled_at', 'status'] loop
    if v_required = any (given) and to_jsonb(update_campaign.input) -> v_required = 'null' then
      perform fail('OF400', camel_case(v_required) || ' cannot be null',
        jsonb_build_object('path', array['input', camel_case(v_required)]));
    end if;
  end loop;
  v_new := jsonb_populate_record(v_old, (
    select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(to_jsonb(update_campaign.input)) where key = any (given)
  ));
  if v_new.product_id is distinct from v_old.product_id and v_new.product_id is not null then
    perform campaign_product(v_new.product_id);
  end if;
  update campaigns c set
    product_id = v_new.product_id, title = coalesce(tidy(v_new.title), ''), vintage = v_new.vintage,
    color = upper(v_new.color), note = tidy(v_new.note), price = coalesce(tidy(v_new.price), ''),
    author_user_id = v_new.author_user_id, medium = v_new.medium, scheduled_at = v_new.scheduled_at, status = v_new.status
  where c.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_campaign is '@guard campaigns.update
Changes a campaign: what the input leaves out stays as it is, null clears an optional field, `productId: null` detaches the product.';

create or replace function delete_campaign(id uuid) returns boolean as $$
begin
  perform require_permission('campaigns.delete');
  delete from campaigns c where c.id = delete_campaign.id;
  if not found then
    perform fail('OF404', 'There is no campaign with this id', '{"path": ["id"]}');
  end if;
  return true;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_campaign is '@guard campaigns.delete
Deletes a campaign.';

create or replace function delete_all_campaigns() returns integer as $$
declare
  v_count integer;
begin
  perform require_permission('campaigns.delete');
  delete from campaigns;
  get diagnostics v_count = row_count;
  return v_count;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function delete_all_campaigns is '@guard campaigns.delete
Deletes every campaign and returns how many there were.';

grant execute on function create_campaign, update_campaign, delete_campaign, delete_all_campaigns to office_api;
