-- The handbook: pages in a tree, with all their versions.
create table documentation_pages (
  id uuid primary key default uuidv7(),
  title text collate display_order not null,
  slug text collate "C" not null default '',
  body text not null default '',
  parent_id uuid references documentation_pages on delete restrict,
  position integer not null default 0,
  tags text[] not null default '{}',
  is_published boolean not null default false,
  is_built_in boolean not null default false,
  author_user_id uuid references users on delete set null,
  updated_by_user_id uuid references users on delete set null,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_vector tsvector not null default '',
  constraint documentation_pages_slug_check check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and char_length(slug) <= 100),
  constraint documentation_pages_title_check check (is_label(title, 200)),
  constraint documentation_pages_body_check check (octet_length(body) <= 200000),
  constraint documentation_pages_tags_check check (cardinality(tags) <= 20 and char_length(array_to_string(tags, '')) <= 1000)
);
create unique index documentation_pages_slug_key on documentation_pages (slug);
create index documentation_pages_parent_id_idx on documentation_pages (parent_id, position, title, id);
create index documentation_pages_order_idx on documentation_pages (title, id);
create index documentation_pages_position_idx on documentation_pages (position, title, id);
create index documentation_pages_author_user_id_idx on documentation_pages (author_user_id);
create index documentation_pages_updated_by_user_id_idx on documentation_pages (updated_by_user_id);
create index documentation_pages_title_idx on documentation_pages using gin (search_text(title) extensions.gin_trgm_ops);
create index documentation_pages_search_idx on documentation_pages using gin (search_vector);
comment on table documentation_pages is '@group Office 53
@title Handbook
@titleOne Page
@read login
@create documentation.update
@update documentation.update
@delete documentation.update
@mutations create update delete
@owner author_user_id
@audit DocumentationPage id except search_vector
@connection
@searchCollection documentation
@searchTitle Handbook
@searchOnly is_published
@searchSort title
@defaultOrder position, title, id
@label title
A handbook page. Every login can read published pages. Drafts are visible to their author and to holders of `documentation.update`.';
comment on column documentation_pages.slug is '@title Address
@searchIndex filter
The page''s name in links, such as `leave-rules`. It defaults to a form of the title. Earlier addresses redirect to the page.';
comment on column documentation_pages.title is '@list 1
@searchIndex searchable sort
@search word
Its heading.';
comment on column documentation_pages.body is '@list off
@searchIndex searchable
@widget markdown
The text in Markdown, at most 200 kB. HTML is shown as text. A link to another page is `[text](leave-rules)`.';
comment on column documentation_pages.parent_id is '@list 2
@title Below
The parent page; null for a page at the top.';
comment on column documentation_pages.position is 'Its position among the pages with the same parent.';
comment on column documentation_pages.tags is '@list 3
@searchIndex searchable facet
Search terms, at most 20.';
comment on column documentation_pages.is_published is '@list 4
@title Published
Whether every login can read it.';
comment on column documentation_pages.is_built_in is '@mutations off
@title Of the product
Whether the page is part of the product and read-only.';
comment on column documentation_pages.author_user_id is '@mutations off
@list 5
@title Author
The author of the first version.';
comment on column documentation_pages.updated_by_user_id is '@mutations off
@title Changed by
The author of the latest version.';
comment on column documentation_pages.version is '@mutations off
The number of its latest version.';
comment on column documentation_pages.updated_at is '@list 6';
comment on column documentation_pages.search_vector is '@internal
The words of title, tags and body, in Danish and English.';
comment on constraint documentation_pages_slug_check on documentation_pages is
  'must be 1 to 100 lowercase letters and digits, with single hyphens between them';
comment on constraint documentation_pages_title_check on documentation_pages is
  'must be 1 to 200 visible characters without spaces at its ends';
comment on constraint documentation_pages_body_check on documentation_pages is 'must be 200 kB at most';
comment on constraint documentation_pages_tags_check on documentation_pages is 'must be 20 words at most, of 1000 characters together';
comment on index documentation_pages_slug_key is 'A page with this address exists already.';
comment on constraint documentation_pages_parent_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName parent
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName children';
comment on constraint documentation_pages_author_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName author';
comment on constraint documentation_pages_updated_by_user_id_fkey on documentation_pages is '@forwardBehavior +singularRelation:resource:single
@fieldName updatedBy';

create table documentation_versions (
  id uuid primary key default uuidv7(),
  page_id uuid not null references documentation_pages on delete cascade,
  number integer not null,
  title text collate display_order not null,
  body text not null,
  author_user_id uuid references users on delete set null,
  created_at timestamptz not null default now()
);
create unique index documentation_versions_page_id_number_key on documentation_versions (page_id, number desc);
create index documentation_versions_author_user_id_idx on documentation_versions (author_user_id);
comment on table documentation_versions is '@title Versions
@titleOne Version
@read documentation.update
@create documentation.update
@root off
@audit DocumentationVersion
@defaultOrder number desc
@label number title
A version of a handbook page.';
comment on column documentation_versions.number is '@list 1
Its number, from 1.';
comment on column documentation_versions.title is '@list 2
The heading of this version.';
comment on column documentation_versions.body is '@list off
@widget markdown
The text of this version.';
comment on column documentation_versions.author_user_id is '@list 3
@title Author
The author; null for a page of the product.';
comment on column documentation_versions.created_at is '@list 4';
comment on index documentation_versions_page_id_number_key is 'The page has a version of this number already.';
comment on constraint documentation_versions_page_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName page
@backwardBehavior +manyRelation:resource:connection
@foreignConnectionFieldName versions';
comment on constraint documentation_versions_author_user_id_fkey on documentation_versions is '@forwardBehavior +singularRelation:resource:single
@fieldName author';

create table documentation_slugs (
  slug text collate "C" primary key,
  page_id uuid not null
);
create index documentation_slugs_page_id_idx on documentation_slugs (page_id);
comment on column documentation_slugs.page_id is 'The page, which may be deleted: a restored page has its earlier addresses again.';
comment on table documentation_slugs is '@internal
@audit off because the change of the address is recorded
The earlier addresses of pages.';

create type documentation_match as (page_id uuid, slug text, title text, excerpt text);
comment on type documentation_match is 'A search result of the handbook.';
comment on column documentation_match.page_id is '@notNull
The page.';
comment on column documentation_match.slug is '@notNull
Its address.';
comment on column documentation_match.title is '@notNull
Its heading.';
comment on column documentation_match.excerpt is '@notNull
An excerpt around the match.';
