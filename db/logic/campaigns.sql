-- Campaigns: defaults, status transitions and remembered colours.
create or replace function tg_campaigns__check() returns trigger as $$
begin
  if new.status <> old.status and not (old.status, new.status) in (
    ('DRAFT', 'SCHEDULED'), ('SCHEDULED', 'DRAFT'), ('SCHEDULED', 'ACTIVE'), ('ACTIVE', 'PAUSED'), ('PAUSED', 'ACTIVE'),
    ('ACTIVE', 'COMPLETED'), ('PAUSED', 'COMPLETED'),
    ('DRAFT', 'CANCELLED'), ('SCHEDULED', 'CANCELLED'), ('ACTIVE', 'CANCELLED'), ('PAUSED', 'CANCELLED')
  ) then
    perform fail('OF409', format('A campaign cannot go from %s to %s', old.status, new.status),
      jsonb_build_object('path', array['input', 'status'], 'from', old.status, 'to', new.status));
  end if;
  if old.status in ('COMPLETED', 'CANCELLED')
    and (new.product_id, new.vintage, new.color, new.price, new.author_user_id, new.medium, new.scheduled_at)
      is distinct from (old.product_id, old.vintage, old.color, old.price, old.author_user_id, old.medium, old.scheduled_at)
    -- Deleting a product detaches its campaigns, including ended ones.
    and not (new.product_id is null and old.product_id is not null
      and not exists (select from products p where p.id = old.product_id))
  then
    perform fail('OF409', format('The campaign is %s: only its title and note can still be changed', old.status),
      jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__check is 'Checks the status transitions of campaigns.';
select ensure_trigger('campaigns', '_200_check',
  'before update on %TABLE% for each row execute function tg_campaigns__check()');

create or replace function tg_campaigns__remember_color() returns trigger as $$
declare
  v_is_remembered boolean;
begin
  -- Every update names the column, so compare the values: an unchanged colour is not used again.
  if tg_op = 'INSERT' or new.color is distinct from old.color then
    -- Writes at most once a second for the most recent colour.
    select c.updated_at > clock_timestamp() - interval '1 second'
      and not exists (select from campaign_colors n where n.updated_at > c.updated_at)
    into v_is_remembered
    from campaign_colors c where c.color = new.color;
    if v_is_remembered is null then
      insert into campaign_colors (color) values (new.color) on conflict do nothing;
    elsif not v_is_remembered then
      -- Skips a locked row: its holder uses the colour now, and waiting would serialize all callers.
      update campaign_colors c set updated_at = clock_timestamp()
      where c.color = (select k.color from campaign_colors k where k.color = new.color for no key update skip locked);
    end if;
  end if;
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__remember_color is 'Stores the colours that campaigns use.';
select ensure_trigger('campaigns', '_500_remember_color',
  'after insert or update of color on %TABLE% for each row when (new.color is not null) execute function tg_campaigns__remember_color()');

-- The status is changed once, by the first caller. Locked campaigns are left for the next call.
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
comment on function start_due_campaigns is 'Starts scheduled campaigns that are due; returns their number.';
grant execute on function start_due_campaigns to office_worker;

-- One job for each start time, shared by its campaigns. The schedule also checks every minute.
create or replace function tg_campaigns__queue_start() returns trigger as $$
begin
  perform enqueue_job('start_campaigns', '{}', extract(epoch from new.scheduled_at)::text, new.scheduled_at);
  return null;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_campaigns__queue_start is 'Queues a job for the start of a scheduled campaign.';
select ensure_trigger('campaigns', '_500_queue_start',
  'after insert or update of status, scheduled_at on %TABLE% for each row when (new.status = ''SCHEDULED'') execute function tg_campaigns__queue_start()');

-- Colours are stored in capitals, so that each is remembered once.
create or replace function create_campaign(input campaigns, given text[]) returns campaigns as $$
declare
  v_input campaigns := create_campaign.input;
  v_campaign campaigns;
begin
  perform require_permission('campaigns.create');
  if v_input.product_id is not null and not array['vintage', 'color'] <@ given then
    select
      case when 'vintage' = any (given) then v_input.vintage else p.vintage end,
      case when 'color' = any (given) then v_input.color else w.color end
    into v_input.vintage, v_input.color
    from products p left join wine_types w on w.id = p.wine_type_id
    where p.id = v_input.product_id;
  end if;
  insert into campaigns (product_id, title, vintage, color, note, price, author_user_id, medium, scheduled_at, status)
  values (v_input.product_id, coalesce(trim_to_null(v_input.title), ''), v_input.vintage, upper(v_input.color), trim_to_null(v_input.note),
    coalesce(trim_to_null(v_input.price), ''), v_input.author_user_id, v_input.medium, v_input.scheduled_at,
    coalesce(v_input.status, 'DRAFT'))
  returning * into v_campaign;
  return v_campaign;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_campaign is '@guard campaigns.create
Creates a campaign. With a product, an omitted `vintage` or `color` is copied from the product or its wine type; an explicit null stays null.';

create or replace function update_campaign(id uuid, input campaigns, given text[]) returns campaigns as $$
declare
  v_old campaigns;
  v_new campaigns;
begin
  perform require_permission('campaigns.update');
  select * into v_old from campaigns c where c.id = update_campaign.id for update;
  if not found then
    perform fail('OF404', 'There is no campaign with this id', '{"path": ["id"]}');
  end if;
  v_new := jsonb_populate_record(v_old, given_values(to_jsonb(update_campaign.input), given,
    array['title', 'price', 'author_user_id', 'medium', 'scheduled_at', 'status']));
  update campaigns c set
    product_id = v_new.product_id, title = coalesce(trim_to_null(v_new.title), ''), vintage = v_new.vintage,
    color = upper(v_new.color), note = trim_to_null(v_new.note), price = coalesce(trim_to_null(v_new.price), ''),
    author_user_id = v_new.author_user_id, medium = v_new.medium, scheduled_at = v_new.scheduled_at, status = v_new.status
  where c.id = v_old.id
  returning * into v_new;
  return v_new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function update_campaign is '@guard campaigns.update
Changes a campaign. Omitted fields stay unchanged, null clears an optional field, and `productId: null` removes the link to the product.';

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
@action bad of campaigns
Deletes all campaigns. Returns their number.';

grant execute on function create_campaign, update_campaign, delete_campaign, delete_all_campaigns to office_api;
