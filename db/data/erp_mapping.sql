-- The possible meanings of ERP codes, and common codes with their meaning. Inserted into a new database only; staff
-- change them afterwards.
insert into erp_mapping_targets (code, value, title)
select t.code || '.unmapped', t.value, t.title
from (values
  ('line_kind', 'PRODUCT', 'Wine and other goods'), ('line_kind', 'SHIPPING', 'Shipping and freight'),
  ('line_kind', 'DISCOUNT', 'Discount'), ('line_kind', 'FEE', 'Fee'), ('line_kind', 'DEPOSIT', 'Deposit on packaging'),
  ('line_kind', 'GIFT_CARD', 'Gift card'), ('line_kind', 'COMMENT', 'Comment'), ('line_kind', 'OTHER', 'Other'),
  ('payment_method', 'BANK_TRANSFER', 'Bank transfer'), ('payment_method', 'CARD', 'Payment card'),
  ('payment_method', 'INVOICE', 'Invoice'), ('payment_method', 'MOBILEPAY', 'MobilePay'), ('payment_method', 'CASH', 'Cash'),
  ('payment_method', 'DIRECT_DEBIT', 'Direct debit'), ('payment_method', 'GIFT_CARD', 'Gift card'),
  ('shipping_method', 'PARCEL', 'Parcel'), ('shipping_method', 'FREIGHT', 'Pallet freight'),
  ('shipping_method', 'COURIER', 'Courier'), ('shipping_method', 'PICKUP', 'Collected, which needs no address'),
  ('vat_code', 'STANDARD', 'Standard rate'), ('vat_code', 'REDUCED', 'Reduced rate'),
  ('vat_code', 'EU_FREE', 'Sold to a company in the EU, without VAT'), ('vat_code', 'EXPORT', 'Exported, without VAT'),
  ('vat_code', 'EXEMPT', 'Exempt'),
  ('currency', 'DKK', 'Danish krone'), ('currency', 'EUR', 'Euro'), ('currency', 'SEK', 'Swedish krona'),
  ('currency', 'NOK', 'Norwegian krone'), ('currency', 'GBP', 'Pound sterling'), ('currency', 'USD', 'US dollar'),
  ('currency', 'CHF', 'Swiss franc'), ('currency', 'PLN', 'Polish złoty'),
  ('warehouse', 'MAIN', 'Main warehouse'), ('warehouse', 'BONDED', 'Bonded warehouse'), ('warehouse', 'SHOP', 'Shop')
) as t(code, value, title)
where not exists (select from erp_mapping_targets);

insert into erp_mapping_rules (code, key, target, note)
select r.code || '.unmapped', r.key, r.target, 'Came with the service: check that it is so in your ERP.'
from (values
  ('line_kind', 'RED', 'PRODUCT'), ('line_kind', 'WHITE', 'PRODUCT'), ('line_kind', 'ROSE', 'PRODUCT'),
  ('line_kind', 'SPARKLING', 'PRODUCT'), ('line_kind', 'FORTIFIED', 'PRODUCT'), ('line_kind', 'SPIRITS', 'PRODUCT'),
  ('line_kind', 'GLASSES', 'PRODUCT'), ('line_kind', 'Item', 'PRODUCT'), ('line_kind', 'Charge FREIGHT', 'SHIPPING'),
  ('line_kind', 'Account 2450', 'DEPOSIT'), ('line_kind', 'Comment', 'COMMENT'),
  ('payment_method', 'BANK', 'BANK_TRANSFER'), ('payment_method', 'CARD', 'CARD'), ('payment_method', 'INVOICE', 'INVOICE'),
  ('payment_method', 'MOBILEPAY', 'MOBILEPAY'),
  ('shipping_method', 'GLS', 'PARCEL'), ('shipping_method', 'POSTNORD', 'PARCEL'), ('shipping_method', 'PALLET', 'FREIGHT'),
  ('shipping_method', 'PICKUP', 'PICKUP'),
  ('vat_code', 'MOMS25', 'STANDARD'), ('vat_code', 'EU0', 'EU_FREE'), ('vat_code', 'EXPORT0', 'EXPORT'),
  ('currency', 'DKK', 'DKK'), ('currency', 'EUR', 'EUR'), ('currency', 'SEK', 'SEK'), ('currency', 'NOK', 'NOK'),
  ('currency', 'GBP', 'GBP'), ('currency', 'USD', 'USD'), ('currency', 'CHF', 'CHF'),
  ('warehouse', 'MAIN', 'MAIN'), ('warehouse', 'BOND', 'BONDED'), ('warehouse', 'SHOP', 'SHOP')
) as r(code, key, target)
  join erp_mapping_targets t on t.code = r.code || '.unmapped' and t.value = r.target
where not exists (select from erp_mapping_rules);
