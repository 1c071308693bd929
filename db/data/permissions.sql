-- All permissions with their descriptions; the role Superadmin holds all of them.
with wanted (key, description) as (
  values
    ('users.read', 'See all users and their roles'),
    ('users.update', 'Activate, deactivate and change users, and assign roles to them'),
    ('roles.read', 'See roles and their permissions'),
    ('roles.create', 'Create roles'),
    ('roles.update', 'Change roles'),
    ('roles.delete', 'Delete roles'),
    ('permissions.read', 'See the list of permissions'),
    ('invitations.read', 'See invitations'),
    ('invitations.create', 'Invite people, resend and revoke invitations'),
    ('audit.read', 'Read the audit log'),
    ('campaigns.read', 'See campaigns, their products and authors'),
    ('campaigns.create', 'Create campaigns'),
    ('campaigns.update', 'Change campaigns'),
    ('campaigns.delete', 'Delete campaigns, one or all'),
    ('products.read', 'See products, their prices and images, and wine types'),
    ('products.create', 'Add products and wine types'),
    ('products.update', 'Change products with their prices and images, and wine types'),
    ('reviewers.read', 'See reviewers and their ratings'),
    ('reviewers.create', 'Add, change and delete reviewers and ratings'),
    ('productsync.run', 'Start the synchronisation of products with the ERP'),
    ('erpsync.read', 'See the state of the ERP synchronisation and the inbox of import issues'),
    ('erpsync.run', 'Start imports from the ERP and edit mapping rules'),
    ('orders.read', 'See orders'),
    ('exports.create', 'Start exports'),
    ('exports.read', 'See and download own exports, and see templates'),
    ('departments.read', 'See departments and colleagues'),
    ('ai.use', 'Use the assistant'),
    ('customers.read', 'See customers and notes about them'),
    ('customers.update', 'Write notes about customers'),
    ('customers.erase', 'Erase the personal data of customers'),
    ('departments.update', 'Add, change and delete departments'),
    ('exporttemplates.update', 'Add, change and delete export templates'),
    ('resources.update', 'Add, change and delete rooms, vehicles and other resources'),
    ('resourcebookings.update', 'Change and cancel the bookings of all users'),
    ('absences.read', 'See the absences of all users with their type and note'),
    ('absences.update', 'Approve, decline and enter the absences of other users'),
    ('documentation.update', 'Write the handbook'),
    ('settings.update', 'Change the settings of the office; receive notifications about the search engine')
)
insert into permissions (key, description) select key, description from wanted
on conflict (key) do update set description = excluded.description
where permissions.description is distinct from excluded.description;

insert into roles (name, description, is_system)
select 'Superadmin', 'Holds every permission', true
where not exists (select from roles where is_system and name = 'Superadmin');

insert into role_permissions (role_id, permission_id)
select r.id, p.id from roles r cross join permissions p where r.is_system and r.name = 'Superadmin'
on conflict do nothing;
