insert into office_settings (time_zone)
select 'Europe/Copenhagen' where not exists (select from office_settings);
