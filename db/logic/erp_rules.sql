-- Mapping rules: the meaning of ERP codes.
create or replace function tg_erp_mapping_targets__check() returns trigger as $$
begin
  new.value := normalize_name(new.value);
  new.title := normalize_name(new.title);
  if new.code = 'line_kind.unmapped' and new.value <> all (enum_range(null::order_line_kind)::text[]) then
    perform fail('OF400', 'value must be one of ' || array_to_string(enum_range(null::order_line_kind), ', '),
      '{"path": ["input", "value"]}');
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_erp_mapping_targets__check is 'Checks that targets for line kinds are line kinds.';
select ensure_trigger('erp_mapping_targets', '_200_check',
  'before insert or update on %TABLE% for each row execute function tg_erp_mapping_targets__check()');

-- The similarity of a text to each target of a code, by the target itself and by existing rules that lead to it.
create or replace function near_mapping_targets(code text, written text)
returns table (target text, similarity real) as $$
  select n.target, max(extensions.similarity(search_text(n.name), search_text(near_mapping_targets.written)))
  from (
    select t.value, t.value from erp_mapping_targets t where t.code = near_mapping_targets.code
    union all
    select t.value, t.title from erp_mapping_targets t where t.code = near_mapping_targets.code
    union all
    select r.target, r.key from erp_mapping_rules r where r.code = near_mapping_targets.code and r.target is not null
  ) as n(target, name)
  group by n.target
  order by 2 desc, 1
$$ language sql stable;
comment on function near_mapping_targets is 'The targets of a code, most similar first.';

create or replace function tg_erp_mapping_rules__check() returns trigger as $$
declare
  v_near text;
begin
  new.key := normalize_name(new.key);
  new.target := normalize_name(new.target);
  new.note := trim_to_null(new.note);
  if (new.target is null) <> new.is_ignored then
    perform fail('OF400', 'target is required, or must be omitted when isIgnored is true', '{"path": ["input", "target"]}');
  end if;
  if new.target is not null
    and not exists (select from erp_mapping_targets t where t.code = new.code and t.value = new.target)
    -- An unknown code is rejected by the table's constraint.
    and exists (select from erp_mapping_targets t where t.code = new.code)
  then
    select string_agg(n.target, ', ') into v_near
    from (select n.target from near_mapping_targets(new.code, new.target) as n limit 5) as n;
    perform fail('OF400', format('target: there is no %s "%s"; there are %s', split_part(new.code, '.', 1), left(new.target, 50), v_near),
      '{"path": ["input", "target"]}');
  end if;
  return new;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function tg_erp_mapping_rules__check is 'Checks that a rule names a known target.';
select ensure_trigger('erp_mapping_rules', '_200_check',
  'before insert or update on %TABLE% for each row execute function tg_erp_mapping_rules__check()');

create or replace function create_erp_mapping_rule(input erp_mapping_rules, recheck boolean default false) returns erp_mapping_rules as $$
declare
  v_rule erp_mapping_rules;
begin
  perform require_permission('erpsync.run');
  insert into erp_mapping_rules (code, key, target, is_ignored, note)
  values (input.code, input.key, input.target, coalesce(input.is_ignored, false), input.note)
  returning * into v_rule;
  if create_erp_mapping_rule.recheck then
    perform queue_erp_run('RECHECK');
  end if;
  return v_rule;
end;
$$ language plpgsql volatile security definer set search_path from current;
comment on function create_erp_mapping_rule is '@guard erpsync.run
@argument recheck Whether to import all orders with a mapping issue again. Queues the job of `recheckErpOrderImportIssues`.
Creates a mapping rule. The rule clears the issues with its code and key when their orders are next imported.';
grant execute on function create_erp_mapping_rule to office_api;

-- Security definer, because row-level security would be evaluated for each of many rows; the caller may read all of
-- them.
create or replace function suggest_mapping_rules(codes text[], keys text[])
returns table (code text, key text, target text, similarity real) as $$
begin
  perform require_permission('erpsync.read');
  return query
    select g.code, g.key, n.target, n.similarity
    from unnest(suggest_mapping_rules.codes, suggest_mapping_rules.keys) with ordinality as g(code, key, place)
      left join lateral (
        -- Suggestions below this similarity are wrong more often than right.
        select n.target, n.similarity from near_mapping_targets(g.code, g.key) as n where n.similarity >= 0.5 limit 1
      ) as n on true
    order by g.place;
end;
$$ language plpgsql stable security definer set search_path from current;
comment on function suggest_mapping_rules is
  'For each cause the rule that would resolve it, with the most similar target when it is similar enough.';
grant execute on function suggest_mapping_rules to office_api;
