-- Compares versions of handbook pages.

-- The greedy algorithm of E. W. Myers, An O(ND) Difference Algorithm (1986). `v_reach` holds how many old lines are behind:
-- d + 1 values for each number of edits d, one for each diagonal, one number of edits after the other.
create or replace function line_differences(field text, old_lines text[], new_lines text[]) returns setof documentation_difference as $$
declare
  v_old integer := cardinality(old_lines);
  v_new integer := cardinality(new_lines);
  v_reach integer[] := '{}';
  v_edits integer;
  v_above integer;
  v_x integer;
  v_k integer;
  v_found documentation_difference[];
begin
  <<search>>
  for d in 0 .. 1000 loop
    v_above := d * (d - 1) / 2;
    for i in 0 .. d loop
      v_k := 2 * i - d;
      v_x := case when d = 0 then 0
        when i = 0 or i < d and v_reach[v_above + i] < v_reach[v_above + i + 1] then v_reach[v_above + i + 1]
        else v_reach[v_above + i] + 1 end;
      while v_x < v_old and v_x - v_k < v_new and old_lines[v_x + 1] = new_lines[v_x - v_k + 1] loop
        v_x := v_x + 1;
      end loop;
      v_reach[v_above + d + i + 1] := v_x;
      if v_x >= v_old and v_x - v_k >= v_new then
        v_edits := d;
        exit search;
      end if;
    end loop;
  end loop;
  -- Texts that differ in more lines are shown in full, one after the other.
  if v_edits is null then
    return query
    select line_differences.field, 'REMOVED'::documentation_change, l.line::integer, l.text from unnest(old_lines) with ordinality as l(text, line)
    union all
    select line_differences.field, 'ADDED', l.line::integer, l.text from unnest(new_lines) with ordinality as l(text, line);
    return;
  end if;
  for d in reverse v_edits .. 1 loop
    v_above := d * (d - 1) / 2;
    if v_k = -d or v_k < d and v_reach[v_above + (v_k + d) / 2] < v_reach[v_above + (v_k + d) / 2 + 1] then
      v_x := v_reach[v_above + (v_k + d) / 2 + 1];
      v_k := v_k + 1;
      v_found[d] := row(line_differences.field, 'ADDED', v_x - v_k + 1, new_lines[v_x - v_k + 1]);
    else
      v_x := v_reach[v_above + (v_k + d) / 2];
      v_k := v_k - 1;
      v_found[d] := row(line_differences.field, 'REMOVED', v_x + 1, old_lines[v_x + 1]);
    end if;
  end loop;
  return query select f.* from unnest(v_found) as f;
end;
$$ language plpgsql immutable;
comment on function line_differences is 'The lines to remove and to add, in the order of the texts; all lines of both when more than 1000 differ.';

create or replace function documentation_differences(documentation_page_id uuid, from_version integer, to_version integer default null)
returns setof documentation_difference as $$
declare
  v_old documentation_versions;
  v_new documentation_versions;
begin
  perform require_full_login();
  perform require_permission('documentation.update');
  select * into v_old from documentation_versions v
  where v.page_id = documentation_differences.documentation_page_id and v.number = documentation_differences.from_version;
  if not found then
    perform fail('OF404', 'The page has no version of this number', '{"path": ["fromVersion"]}');
  end if;
  select * into v_new from documentation_versions v
  where v.page_id = documentation_differences.documentation_page_id
    and v.number = coalesce(documentation_differences.to_version, v.number)
  order by v.number desc limit 1;
  if not found then
    perform fail('OF404', 'The page has no version of this number', '{"path": ["toVersion"]}');
  end if;
  return query select * from line_differences('title', array[v_old.title], array[v_new.title]);
  return query select * from line_differences('tags', v_old.tags, v_new.tags);
  return query select * from line_differences('body', string_to_array(v_old.body, E'\n'), string_to_array(v_new.body, E'\n'));
end;
$$ language plpgsql stable;
comment on function documentation_differences is '@guard login documentation.update
@report Office 40
@icon book
@title Differences of handbook versions
@argument documentation_page_id The page.
@argument from_version The number of a version.
@argument to_version The number of the version to compare it with; by default the latest.
The lines that differ between two versions of a handbook page. When more than 1000 lines of a field differ, all its lines are listed.';
grant execute on function line_differences, documentation_differences to office_api;
