-- Marketing campaigns and the colours that they have used.
create type campaign_medium as enum ('EMAIL', 'SMS', 'SOCIAL', 'WEB', 'PRINT', 'EVENT', 'OTHER');
comment on type campaign_medium is 'The medium of a campaign.';
create type campaign_status as enum ('DRAFT', 'SCHEDULED', 'ACTIVE', 'PAUSED', 'COMPLETED', 'CANCELLED');
comment on type campaign_status is
  'The status of a campaign. Possible changes are DRAFT to SCHEDULED and back, SCHEDULED to ACTIVE, ACTIVE to PAUSED and back, and ACTIVE to COMPLETED. Every open campaign can be CANCELLED.';

create table campaigns (
  id uuid primary key default uuidv7(),
  product_id uuid references products on delete set null,
  title text collate display_order not null,
  vintage integer,
  color text,
  note text,
  price text not null,
  author_user_id uuid not null references users on delete restrict,
  medium campaign_medium not null,
  scheduled_at timestamptz not null,
  status campaign_status not null default 'DRAFT',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint campaigns_title_check check (is_label(title, 300)),
  constraint campaigns_vintage_check check (vintage between 1700 and 2200),
  constraint campaigns_color_check check (color ~ '^#[0-9A-F]{6}$'),
  constraint campaigns_note_check check (char_length(note) <= 20000),
  constraint campaigns_price_check check (is_label(price, 64))
);
create index campaigns_product_id_idx on campaigns (product_id);
create index campaigns_author_user_id_idx on campaigns (author_user_id);
create index campaigns_scheduled_at_idx on campaigns (scheduled_at desc, id);
create index campaigns_due_idx on campaigns (scheduled_at) where status = 'SCHEDULED';
create index campaigns_title_idx on campaigns (title, id);
create index campaigns_status_idx on campaigns (status, id);
create index campaigns_vintage_idx on campaigns (vintage, id);
create index campaigns_medium_idx on campaigns (medium, id);
create index campaigns_created_at_idx on campaigns (created_at, id);
create index campaigns_updated_at_idx on campaigns (updated_at, id);
create index campaigns_words_idx on campaigns using gin (search_text(title) extensions.gin_trgm_ops);
comment on table campaigns is '@group Marketing 30
@icon flag
@searchCollection campaigns
@searchSort scheduled_at desc
@read campaigns.read
@create campaigns.create
@update campaigns.update
@delete campaigns.delete
@audit Campaign
@filter from scheduledAt:>=$value
@filter to scheduledAt:<=$value
@filter status status:$value
@filter medium medium:$value
@filter authorUserId authorUserId:$value
@filter productId productId:$value
@defaultOrder scheduled_at desc, id
A marketing campaign, optionally for a product.';
comment on column campaigns.product_id is '@list 5
The product of the campaign.';
comment on column campaigns.title is '@search word
@list 1
@searchIndex searchable sort
The title of the campaign.';
comment on column campaigns.vintage is '@searchIndex facet sort
The vintage of the campaign. If omitted on creation, it is copied from the product.';
comment on column campaigns.color is '@title Colour
@widget color
@searchIndex facet dataType hexColor
The colour of the campaign, as `#RRGGBB`. If omitted on creation, it is copied from the product''s wine type.';
comment on column campaigns.note is '@widget long
@searchIndex searchable
A note for colleagues.';
comment on column campaigns.price is '@searchIndex searchable
The advertised price, free text of 1 to 64 characters.';
comment on column campaigns.author_user_id is '@list 6
@title Author
@choices isActive:true
The user who is responsible for the campaign.';
comment on column campaigns.medium is '@list 2
@searchIndex facet
The medium of the campaign.';
comment on column campaigns.scheduled_at is '@list 4
@searchIndex filter sort
When the campaign starts.';
comment on column campaigns.status is '@list 3
@tone SCHEDULED info
@tone ACTIVE ok
@tone PAUSED warn
@tone CANCELLED bad
@searchIndex facet
The status of the campaign.';
comment on column campaigns.created_at is '@searchIndex filter sort';
comment on column campaigns.updated_at is '@searchIndex filter sort';
comment on constraint campaigns_title_check on campaigns is 'must be 1 to 300 visible characters';
comment on constraint campaigns_vintage_check on campaigns is 'must be a year from 1700 to 2200';
comment on constraint campaigns_color_check on campaigns is 'must be a colour such as #7A0019';
comment on constraint campaigns_note_check on campaigns is 'must be 20000 characters at most';
comment on constraint campaigns_price_check on campaigns is 'must be 1 to 64 visible characters';
comment on constraint campaigns_product_id_fkey on campaigns is '@searchIndex name searchable
@forwardFollows parent
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';
comment on constraint campaigns_author_user_id_fkey on campaigns is '@searchIndex name searchable
@forwardFollows parent
@fieldName author
@notNull
@foreignConnectionFieldName campaigns
@behavior +singularRelation:resource:single +manyRelation:resource:connection';

create table campaign_colors (
  color text primary key,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint campaign_colors_color_check check (color ~ '^#[0-9A-F]{6}$')
);
create index campaign_colors_updated_at_idx on campaign_colors (updated_at desc);
comment on table campaign_colors is '@group Marketing 31
@icon drop
@title Colours
@titleOne Colour
@read campaigns.read
@audit off because it only copies what campaigns hold
@defaultOrder updated_at desc
A colour that campaigns have used, as a suggestion for further campaigns.';
comment on column campaign_colors.color is '@title Colour
@widget color
The colour, as `#RRGGBB`.';
comment on column campaign_colors.updated_at is 'When a campaign last used the colour, to the second.';
