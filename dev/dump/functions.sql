-- $1: the schemas to dump. Functions with their bodies, owners, grants and comments. The tenant's name is removed
-- from the function's qualified name and its `search_path`. It stays elsewhere, so that a function that names its
-- schema shows up.
with functions as (
  select p.*, array_position($1::text[], n.nspname::text) as place, n.nspname, n.nspowner, p.oid::regprocedure::text as name
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = any ($1::text[]) and p.prokind in ('f', 'p', 'w')
)
select place, 'functions' as section, name as object, 1 as part, regexp_replace(
  case when place > 1 then pg_get_functiondef(oid) else
    replace(
      overlay(
        pg_get_functiondef(oid) placing ''
        from position(quote_ident(nspname) || '.' in pg_get_functiondef(oid)) for char_length(quote_ident(nspname)) + 1
      ),
      E'\n SET search_path TO ' || quote_literal(nspname) || ',', E'\n SET search_path TO (tenant),'
    )
  end, '\s*$', ';'
) as text
from functions
union all
select place, 'functions', name, 2, format('alter function %s owner to %I;', name, proowner::regrole::text)
from functions where proowner <> nspowner
union all
select place, 'functions', name, 3, format(
  'grant execute on function %s to %s;', name,
  string_agg(case g.grantee when 0 then 'public' else g.grantee::regrole::text end, ', ' order by g.grantee::regrole::text collate "C")
)
from functions, aclexplode(coalesce(proacl, acldefault('f', proowner))) g
where g.grantee <> proowner
group by place, name
union all
select place, 'functions', name, 4, format('comment on function %s is %L;', name, d.description)
from functions join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = functions.oid
