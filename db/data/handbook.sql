-- The handbook's pages about the product. Written by `npm run generate` from docs: change those, not this file.
insert into documentation_pages (slug, title, body, position, is_published, is_built_in)
select slug, title, body, position, true, true
from (values
  ('console', 'The console', 'For office staff, and for those who show it to them. After this page you can find rows, change them, and see who changed them.

The console is at `/admin`. It shows the lists that your permissions open. What you may not do is not offered, or says which permission is missing.

## Log in

Choose your provider. In development, enter an address of a user, or make yourself the first Superadmin of an empty system. The session is in a cookie that scripts cannot read. When it ends while you work, a dialog asks you to log in again; what you
typed stays.

`My profile` in the account menu changes your own name, picture, time zone and locale; it needs no permission.

## Find rows

Type into the box above a list. Words are searched in the names; `field:value` asks one field ([query language](query-language)). The box offers fields, values and names as you type; Tab takes one, Enter searches. A field that does not exist is
underlined, and Tab takes the suggested one.

Some lists open with a query, such as bookings with those that are not over (`endsAt:>=today`). The cross in the box
clears it and shows all rows.

The address of the page holds the query, the order and the columns: send it to a colleague, and they see the same rows as far as they may. Back returns to the query before.

`Columns` chooses the columns and their order; drag the edge of a title to change a width. Both are kept in your browser.

### Saved views

`Views`, or the key `v`, saves the query, the order and the columns of a list under a name: choose `Save as new view …`. The menu then
opens the view; while it is open, the button has its name. When the list shows something else than the view, the button says
`changed`: save the changes from the same menu, or choose the view again to drop them. Ctrl K finds views by name, and the
address of a view can be sent to colleagues.

Everybody has views of their own, at most 200. With `roles.update` and `roles.read` you can share a view with a role (`Rename, share or delete …`): everybody who
holds the role sees it in the menu, with your name beside it, and only you can change it, as long as you have `roles.update`. A view shows each person only the rows
that their permissions show. When a column of a view no longer exists, the console says so and shows the rest.

## Reports

The navigation also has reports, below the lists of a heading, such as `Free resources`, `Who is away` and `Absence balances` under Office, and `My sessions` under People. Fill in the fields and choose `Show`, or press Enter. Where nothing is required, the page shows
the usual answer at once. The address holds what you filled in, so that you can send it or keep it.

`My sessions` shows where you are logged in. Open a row and choose `Revoke session` under `Actions` to end it;
`Logout everywhere` above the rows ends all of them.

## Look at a row and change it

Click a name, or press Enter; Space opens the row in a drawer over the list. Fields that you may change have a frame. `Save` sends only what you changed. An error stands at its field.

When a colleague saves the same row before you: fields that only one of you changed are both kept, and the console says so. Where both changed the same field, it asks which value stands. Nothing that you typed is lost.

An amount and its currency are one value: when one of you changed the amount and the other its currency, the console asks, with both amounts in their currencies. The two ends of a period are two values, because each says something without the other. When both are kept and do not fit together, the database rejects them, and the message stands at its field.

`History` lists each change with who and when, also changes made in the database. The arrow beside a value puts the old one into the form, an amount together with its currency; save it to make it count.

Tabs list the rows that refer to the row, such as the prices of a product. `New …` makes one over the page, and so does the last of the choices of a field when what you need is not there yet.

The form of a new row can end with `Options`, which are not stored in the row: a new mapping rule offers to import the
orders with a mapping issue again.

`Actions` offers what else can be done with a row, such as deactivating a user, or with a list, such as importing orders from the ERP or marking all notifications as read; what is hard to take back asks first.

`Delete` waits six seconds in which `Undo` takes it back, and longer while the pointer or the focus is in the message. A row that others refer to is not deleted; the message names what refers to it. The selected rows of a list, at most 100, are deleted together; each one that cannot be deleted stays. More of them, or all that match the query (Ctrl A), are deleted by one request after a question, all or none, at most 5,000; in place of `Undo`, the report `Deleted rows` restores them together. A row that was deleted within the last seven days is restored at its address: the page says who deleted it, with `Restore` for whoever may create such rows, and its history for holders of `audit.read`. The report `Deleted rows` lists them. If a row is deleted while you edit it, the form keeps what you typed; `Restore and save` restores the row and saves your edits in it. If a colleague had changed the same fields before, it asks first.

`Edit` below a list gives the selected rows, at most 100, the same values: choose the fields, whose hints say what the rows have now; other fields stay as they are. A row that somebody has changed since the form opened keeps its values, and the form names it; save again to change it all the same. `Undo` gives the rows their former values. More than 100 rows, or all that match the query (Ctrl A), are changed by one request, at most 5,000: the console first counts how many get other values and asks; all are changed or none, and there is no `Undo` for them. Lists whose rows are changed by functions, such as users, have no such mutation. `Actions` there offers what can be done with all selected rows, such as declining several absences with one note, and names those for which it fails.

A secret, such as the address of a calendar feed or an API token, is shown once, in a dialog after its row is created.

## Notifications and the handbook

`Notifications`, below Today, shows the number of unread notifications; the start page lists the latest. The arrow of a
notification opens the row that it refers to. `Actions` marks it as read. `Notification settings` selects what is sent by
e-mail ([notifications](notifications)).

Handbook pages are rendered from Markdown. Holders of `documentation.update` edit them in a field with a preview
([handbook](handbook)).

## Keys

`?` lists all keys. The most useful:

| key | does |
| --- | --- |
| Ctrl K | go to a list or report, or find a row of any list by its name |
| `/` | the query |
| `j` `k`, arrows | rows and cells; Ctrl End goes to the last row, ↑ from the first row to the titles of the columns, where Enter sorts and Shift ← → changes the width |
| Enter, Space | open the row; look at it in a drawer, or in the first column select it |
| `n` | new row |
| `h` | history |
| `[` `]` | the row before, the row after, also in a drawer |
| `e` | edit the row: go to its first field; in a list, the selected rows |
| `.` | actions of the row, the selected rows or the list |
| Delete, `u` | delete the row, in a list the selected rows; take back a deletion, or a change of selected rows, while its message shows |
| Ctrl S | save |

Keys of one letter work outside of fields and can be switched off in the dialog of `?` (Account, Keyboard).

## How a table gets here

By its migration: change the database shows the tags for headings, names, units, colours and places. No file of the console names a table, except for the cards of the start page, the unread notifications and the addresses of the handbook.', 0),
  ('query-language', 'The query language', 'For callers of lists and exports. After this page you can write a query, put values into it safely, and predict what it
finds and what it costs.

The `query` argument of a connection is a text in this language. It combines words, which search the default text fields
of the table, with terms, which test one field:

```text
gewurztraminer country:FR points:>=90 -wineType.name:"Pinot Gris"
```

Nothing in a query is ignored. A query that cannot be understood is refused as `BAD_USER_INPUT`, with a message that
shows the position, counted from 1. To get all rows, leave `query` out; a blank query is refused.

## Words

| Example          | Finds rows where one of the default text fields contains |
| ---------------- | -------------------------------------------------------- |
| `riesling`       | this text anywhere, in any case, with or without accents |
| `ries*`          | a word with this beginning                               |
| `"late harvest"` | this phrase, anywhere                                    |
| `"château la"*`  | this phrase from the beginning of a word                 |
| `riesling dry`   | both, also in different fields                           |

- One or two letters are searched at the beginning of words: `ra` finds `Rasteau` and not `Gewürztraminer`, like `ra*`.
  Scripts without spaces between words are searched anywhere.
- A text of signs alone, such as `%`, cannot use an index. Beside a word or a term that must match, as in
  `moët & chandon`, it is searched as text. Alone it is refused.
- A word may contain any letters, digits and signs of any script, except those under [Escapes](#escapes).

## Terms

A term is a field name, a colon and, directly after it, a condition. The first colon ends the name; further ones belong
to the value. A dot reaches a field of a related table, over three relations at most. The description of the `query`
argument lists the fields of its table. Times of day, intervals, ranges and JSON cannot be searched.

| Example                            | Finds rows where                                          |
| ---------------------------------- | --------------------------------------------------------- |
| `country:FR`                       | the field has this value                                  |
| `name:"Château Margaux"`           | the same; a value with spaces needs quotes                |
| `wineType.name:Rød`                | the field of the related table has this value             |
| `name:Chât*`                       | the text begins with this                                 |
| `name:"Château M"*`                | the same, with spaces                                     |
| `vintage:*`                        | the field is set                                          |
| `NOT vintage:*`                    | the field is not set                                      |
| `country:IN("FR", "IT", DE)`       | the field has one of these values                         |
| `points:>90`                       | the value is greater                                      |
| `points:>=90`                      | the value is greater or the same                          |
| `price:<12.50`                     | the value is less                                         |
| `price:<="12.50"`                  | the value is less or the same; quotes change nothing here |
| `points:[85 TO 90]`                | the value lies between, both ends included                |
| `points:{85 TO 90}`                | the value lies between, both ends excluded                |
| `points:[85 TO 90}`                | from 85, included, to 90, excluded                        |
| `points:[85 TO *]`                 | an open end; only one end can be open                     |
| `createdAt:>=2026-01-31T12:00:00Z` | dates and times are written as they are                   |
| `createdAt:[now-7d TO now]`        | dates can be relative                                     |
| `country:(FR OR IT)`               | a group has several conditions for one field              |
| `points:(>=80 <90)`                | a group of values allows all of the above                 |
| `ratings.points:>=90`              | a related row has a value of 90 or more                   |
| `ratings:(points:>=90 year:2020)`  | one related row has both                                  |
| `grapes:Merlot`                    | a list contains this value                                |
| `grapes:(Merlot Syrah)`            | a list contains both                                      |
| `grapes:IN(Merlot, Syrah)`         | a list contains one of them                               |
| `grapes:*`                         | a list is not empty                                       |

In a group of values `-` excludes, so a negative number needs quotes there: `balance:("-5" OR 3)`. A term outside a
group needs none: `balance:-5`.

## Related rows

Of several related rows one match is enough, and each term may match a different row. A group after the name of the
relation requires one row that meets all its conditions:

| Example                                      | Finds wines with                                              |
| -------------------------------------------- | ------------------------------------------------------------- |
| `ratings.points:>90 ratings.year:2020`       | a rating of more than 90, and a rating of 2020                |
| `ratings:(points:>90 year:2020)`             | a rating of 2020 of more than 90                              |
| `ratings:(points:>90 -year:2020)`            | a rating of more than 90 that is of another year or of none   |
| `-ratings:(points:>90 year:2020)`            | no rating of 2020 of more than 90; maybe no rating at all     |
| `-ratings.points:>90`                        | no rating of more than 90                                     |
| `ratings:(points:>90 reviewer:(name:Anna))`  | a rating of more than 90 by Anna                              |
| `ratings.reviewer:(name:Anna OR name:Bo)`    | a rating by one of them, like `ratings.reviewer.name:IN(Anna, Bo)` |

A list is searched from either side: `orders(query: "lines.productId:<id>")` returns each order of a wine once, newest
first, and with `includeTotalCount` their number.

Rows that a join table leads to are related rows as well, by the name of their list. A join table is one whose primary
key consists of two references: `user_roles` leads from users to `roles` and from roles to `users`.

| Example                                        | Finds                                            |
| ---------------------------------------------- | ------------------------------------------------ |
| `roles.name:Buyer` in users                    | users with this role                             |
| `-roles.name:IN(Buyer, Seller)` in users       | users with none of these roles                   |
| `roles.permissions.key:users.update` in users  | users who may change users                       |
| `users.email:anna@wine.example` in roles       | the roles of a user                              |
| `author.roles.name:Buyer` in campaigns         | campaigns by users with this role                |

The caller needs the permissions to read the join table and the rows: with `campaigns.read` alone the last example finds
nothing.

Terms in such a group name fields of the related table. Words without a field, and values alone, are not allowed there.
`ratings:*` is refused; `ratings.id:*` finds wines with a rating. Rows that the caller may not see never match.

## Combining

| Example              | Same as                 |                                     |
| -------------------- | ----------------------- | ----------------------------------- |
| `a b`                | `a AND b`               | adjacent parts mean `AND`           |
| `-a b`               | `NOT a AND b`           | a leading `-` means `NOT`           |
| `a OR b c`           | `a OR (b AND c)`        | `AND` binds more strongly than `OR` |
| `NOT a b`            | `(NOT a) AND b`         | `NOT` binds most strongly           |
| `-(a OR b)`          | `NOT (a OR b)`          | parentheses go first                |
| `name:(a OR NOT b*)` | `name:a OR NOT name:b*` | a group repeats its field           |

`AND`, `OR`, `NOT`, `TO` and `IN` are keywords in upper case only; `and` is a word. To use a keyword as a word or value,
quote it: `state:"OR"`. An exclusion keeps rows without a value: `-vintage:2015` also finds wines without a vintage.
Operators may not be doubled (`NOT NOT a`, `--a`, `a AND AND b`).

## Escapes

- Within quotes, `\"` is a quote and `\\` a backslash. No other backslash is allowed there.
- In bare text, a backslash before a space or an ASCII punctuation mark makes it ordinary: `name:50\*`, `rock\(y\)`.
- Bare text needs a backslash (or quotes around the whole) for `\ ( ) " [ ] { } *` and white space. A bare word also
  needs it for `: < > =` and a leading `-`; a bare value for a leading `<`, `>` or `=`; a value in `IN(…)` also for a
  comma.
- Tabs and line breaks are white space. Other control characters and halves of surrogate pairs are refused.

## Bound values

A program does not escape the values that it puts into a query. It writes `$name` in the query and passes the value in
`queryValues`:

```graphql
query ($name: String, $countries: JSON) {
  products(query: "name:$name country:IN($countries)", queryValues: { name: $name, countries: $countries }) {
    nodes { name }
  }
}
```

- No character of a bound value is an operator: quotes, parentheses and `*` in it are searched for.
- A reference is allowed in the place of a bare value or word, also before `*` (`name:$name*`), after a comparison
  (`vintage:>=$from`) and in a range.
- A text, a number or a boolean is allowed anywhere; a list only in `IN`.
- A reference without a value and a value without a reference are refused.
- To search for a dollar sign before a name, quote it (`"$name"`) or put a backslash before it.
- All values together have at most 50,000 characters, counted wherever the query refers to them. A list has at most 1,000 values, and all lists of a query have at most 1,000 together.

## Grammar

```ebnf
query      = or ;
or         = and , { "OR" , and } ;
and        = not , { [ "AND" ] , not } ;
not        = [ "NOT" | "-" ] , primary ;          (* no space after "-" *)
primary    = "(" , or , ")" | term | word ;
word       = ( bare | quoted ) , [ "*" ] ;
term       = field , ":" , ( condition | "(" , group , ")" ) ;
condition  = "*"
           | value , [ "*" ]
           | ( ">" | ">=" | "<" | "<=" ) , value
           | "IN(" , value , { "," , value } , ")"
           | ( "[" | "{" ) , bound , "TO" , bound , ( "]" | "}" ) ;
bound      = value | "*" ;
value      = bare | quoted ;
group      = or ;   (* its primaries all are "(" , group , ")" | condition, or all "(" , group , ")" | term *)
field      = name , { "." , name } ;
name       = ( letter | "_" ) , { letter | digit | "_" } ;   (* ASCII letters *)
quoted     = ''"'' , { character - ( ''"'' | "\" ) | ''\"'' | "\\" } , ''"'' ;
bare       = plain , { plain } ;                  (* not a keyword, unless "*" follows *)
plain      = "\" , ( space | punctuation ) | character - special ;
```

White space separates words and terms. It is allowed around keywords, parentheses, commas, and inside the brackets of a
range, where it must surround `TO`. It is not allowed between a field, its colon, a comparison, its value and `*`, or
between `IN` and its parenthesis. `special` is the set under [Escapes](#escapes).

## Bounds

| What                                         | At most                 |
| -------------------------------------------- | ----------------------- |
| length of the query                          | 4,000 UTF-16 code units |
| nesting of parentheses, groups and negations | 20                      |
| words and terms (an `IN` list counts as one) | 100                     |
| beginnings of words (`ab`, `abc*`), alternatives joined by `OR` counting as one | 24 |
| values of all `IN` lists                     | 1,000                   |

## Values by type

| type | syntax and comparison |
| --- | --- |
| Text | equality in any case, with or without accents; `*` at the end matches a beginning; no comparisons or ranges |
| Exact text, such as product numbers | compared byte for byte |
| Whole numbers | `12`, `-3`; of 32 or 64 bits as the field |
| Decimal numbers | `12.50`, `-.5`, `1.5e3`; a point, at most 100 digits, an exponent of at most 300 |
| Booleans | `true` and `false` |
| Dates and times | ISO 8601, in UTC; see below |
| Relative dates | `now-7d`, `today+1w`, `today-1M`; see below |
| Enumerations | one of the values, exactly as listed |
| Ids | the whole UUID, in either case |
| Lists of these | the condition matches one of the elements |

`NaN` and `Infinity` are refused. So are a range that ends before it starts, and `*` and comparisons on types that do
not have them.

**Dates and times.** A value covers the whole period that it names:

- `2026` the year, `2026-01` the month, `2026-01-31` the day, `2026-01-31T12:00Z` the minute, `2026-01-31T12:00:00Z` the
  second, `2026-01-31T12:00:00.250Z` the millisecond.
- So `createdAt:2026-01` finds all of January, `createdAt:>2026` begins with 2027, and `createdAt:<=2026-01-31` includes
  the 31st.
- A time needs `Z` or an offset such as `+02:00`. Years are 1 to 9999. A date or time without a zone in the database
  counts as UTC.

**Relative dates.** `now` (the millisecond), `today`, `yesterday` and `tomorrow`, each with one `+` or
`-`, a number of up to six digits and a unit: `s` seconds, `m` minutes, `h` hours, `d` days, `w` weeks, `M` months, `y`
years. A day moved by days or longer units remains a whole day; moved by hours, minutes or seconds it is a millisecond.
Where a month is too short, its last day is used. `today` is the day in the caller''s time zone, by default that of the
office ([time zones](notifications)); clock changes make days of 23 or 25 hours. Dates that are
written out are in UTC for every caller, so `createdAt:2026-01-31` and `createdAt:today` can differ by some hours.

**Lists.** Each condition may match a different element: `scores:(>80 <90)` also finds a list with 70 and 95, and
`scores:[80 TO 90]` one with an element between. `*` requires an element; an empty list has none. Only `field:value` and
`IN` use an index on lists.

## Worked examples

The tests run these queries against these wines, all dates in UTC, as a user whose time zone is UTC.

| Number | Name                   | Producer     | Vintage | Country | Alcohol | Created                  | Ratings                      |
| ------ | ---------------------- | ------------ | ------- | ------- | ------- | ------------------------ | ---------------------------- |
| 0001   | Château Margaux        | Margaux      | 2015    | France  | 13.5    | 2026-01-31T23:59:59.999Z | Anna 2020 80, Bo 2021 95     |
| 001    | Gewürztraminer Réserve | Trimbach     | 2016    | france  | 14      | 2026-02-01T00:00:00.000Z | Anna 2020 92                 |
| 1      | 100% Pinot             | L''Hermitage  |         | France  |         | 2026-02-02T23:59:59.999Z |                              |
| AB_C   | Riesling (Dry)         | Dr. Loosen   | 2015    | Germany | 11.5    | 2026-02-03T00:00:00.000Z | Bo 2020 95                   |
| ABXC   | Late Harvest Riesling  |              | 2010    |         | 8       | 2025-02-03T12:00:00.000Z | Anna 2021 60                 |

| Query                                              | Finds                  |
| -------------------------------------------------- | ---------------------- |
| `margaux`                                          | 0001                   |
| `gewurz`                                           | 001                    |
| `raminer`                                          | 001                    |
| `raminer*`                                         | nothing                |
| `ra`                                               | nothing                |
| `re`                                               | 001                    |
| `riesling late`                                    | ABXC                   |
| `"late harvest"`                                   | ABXC                   |
| `"harvest late"`                                   | nothing                |
| `riesling -late`                                   | AB_C                   |
| `riesling OR margaux`                              | 0001, AB_C, ABXC       |
| `country:FRANCE`                                   | 0001, 001, 1           |
| `country:fr*`                                      | 0001, 001, 1           |
| `-country:France`                                  | AB_C, ABXC             |
| `erpProductNumber:1`                               | 1                      |
| `erpProductNumber:IN("0001", 001)`                 | 0001, 001              |
| `erpProductNumber:AB_*`                            | AB_C                   |
| `erpProductNumber:ab*`                             | nothing                |
| `vintage:*`                                        | 0001, 001, AB_C, ABXC  |
| `NOT vintage:*`                                    | 1                      |
| `-vintage:2015`                                    | 001, 1, ABXC           |
| `vintage:[2010 TO 2015}`                           | ABXC                   |
| `vintage:(>=2010 <2016)`                           | 0001, AB_C, ABXC       |
| `alcoholPercent:>13.5`                             | 001                    |
| `alcoholPercent:[* TO 11.50]`                      | AB_C, ABXC             |
| `createdAt:2026-01`                                | 0001                   |
| `createdAt:2026`                                   | 0001, 001, 1, AB_C     |
| `createdAt:>2026-01`                               | 001, 1, AB_C           |
| `createdAt:<=2026-01-31`                           | 0001, ABXC             |
| `createdAt:[2026-02-01 TO 2026-02-03}`             | 001, 1                 |
| `createdAt:2026-02-01T01:00+01:00`                 | 001                    |
| `ratings.points:>90`                               | 0001, 001, AB_C        |
| `-ratings.points:>90`                              | 1, ABXC                |
| `ratings.points:>90 ratings.year:2020`             | 0001, 001, AB_C        |
| `ratings:(points:>90 year:2020)`                   | 001, AB_C              |
| `-ratings:(points:>90 year:2020)`                  | 0001, 1, ABXC          |
| `ratings:(points:>90 -year:2020)`                  | 0001                   |
| `ratings:(reviewer.name:Anna points:(>=80 <=92))`  | 0001, 001              |
| `ratings.reviewer:(name:Bo OR name:Carl)`          | 0001, AB_C             |
| `ratings.id:*`                                     | 0001, 001, AB_C, ABXC  |
| `(vintage:2010 OR margaux) ratings.year:2021`      | 0001, ABXC             |

At any hour of 3 February 2026:

| Query                            | Finds              |
| -------------------------------- | ------------------ |
| `createdAt:today`                | AB_C               |
| `createdAt:yesterday`            | 1                  |
| `createdAt:>=yesterday`          | 1, AB_C            |
| `createdAt:<today`               | 0001, 001, 1, ABXC |
| `createdAt:today-2d`             | 001                |
| `createdAt:[today-3d TO today}`  | 0001, 001, 1       |
| `createdAt:>=today-1w`           | 0001, 001, 1, AB_C |
| `createdAt:<today-11M`           | ABXC               |
| `createdAt:today-1y`             | ABXC               |
| `createdAt:tomorrow`             | nothing            |
| `createdAt:>now+1d`              | nothing            |

At noon of that day:

| Query                             | Finds              |
| --------------------------------- | ------------------ |
| `createdAt:[now-12h TO now]`      | AB_C               |
| `createdAt:{now-12h TO now]`      | nothing            |
| `createdAt:>=now-36h`             | 1, AB_C            |
| `createdAt:<=now-1y`              | ABXC               |
| `createdAt:<now-1y`               | nothing            |
| `createdAt:[now-7d TO now]`       | 0001, 001, 1, AB_C |
| `createdAt:[today-12h TO today]`  | 1, AB_C            |

## What is fast

- Words, values and beginnings are fast in fields that have an index; so are numbers and dates.
- A term for a field without an index reads all rows that the rest of the query leaves. So does everything under a
  `NOT`: add a positive condition.
- A page of a text search reads a bounded number of rows, for common and for rare words, at any place of the list. The
  database first tests rows in the order of the list, which fills the page when the words are common. Otherwise it looks
  the words up in their index and sorts the matches.
- The slowest words are those that thousands of rows have, none of them near the beginning of the list: all of these
  rows are sorted.
- `totalCount` and aggregates read every matching row.

## Errors

An unknown field and a value that does not fit the type are refused at their position, an unknown field with the nearest
known names:

```text
vintag:2015
  query: `vintag` is not a field that can be searched (did you mean `vintage`?) at position 1
vintage:dry
  query: `dry` is not a whole number at position 9
```

Each of these queries is refused with the message below it:

```errors
AND riesling
  query: `AND` has nothing before it at position 1
riesling OR
  query: `OR` has nothing after it at position 10
a AND AND b
  query: `AND` stands directly after `AND` at position 7
NOT NOT a
  query: `NOT` repeats the `NOT` before it at position 5
- riesling
  query: a lone `-` (it stands directly before what it excludes) at position 1
(riesling
  query: the parenthesis is never closed at position 1
riesling)
  query: `)` closes nothing at position 9
name:()
  query: the parentheses are empty at position 1
"late harvest
  query: the quote is never closed at position 1
"late"harvest
  query: a space is missing at position 7
""
  query: the phrase is empty at position 1
country:
  query: `country:` has no value directly after it at position 1
country: FR
  query: `country:` has no value directly after it at position 1
points:>=
  query: `>=` has no value after it at position 8
points:=90
  query: `=` is not an operator (equality is written `field:value`) at position 8
points>90
  query: `>` stands only after a field and a colon, as in `points:>=90` (or quote the text) at position 7
points:<>90
  query: a bare value does not start with `>` (quote the value) at position 9
ries*ling
  query: `*` stands only at the end of a word (quote the word or write `\*`) at position 5
*
  query: `*` has no word before it at position 1
name:""*
  query: `*` has no text before it at position 6
points:>=9*
  query: `*` is not allowed here (quote the value) at position 11
country:IN()
  query: `IN()` has no values at position 9
country:IN(FR IT)
  query: a comma is missing in the list of `IN` at position 15
country:IN(FR,)
  query: a value is missing in the list of `IN` at position 15
country:IN(FR
  query: the list of `IN` is never closed at position 11
country IN (FR)
  query: `IN` stands only in `field:IN(a, b)` (quote it to search for it) at position 9
state:OR
  query: `OR` is a keyword (quote it to use it as a value) at position 7
points:[85 90]
  query: `TO` is missing (a range is written `[a TO b]`) at position 12
points:[85 TO]
  query: a value is missing in the range at position 14
points:[85 TO 90
  query: the range is never closed at position 8
points:[85 TO 90)
  query: a range ends with `]` or `}` after its second value at position 17
points:[* TO *]
  query: a range needs a value at one end at least (`field:*` asks whether a field is set) at position 8
12:30
  query: `12` is not a field name (quote the text to search for it) at position 1
:FR
  query: the field name before `:` is missing at position 1
name:(a OR country:FR)
  query: `country:` names a field within a group of values at position 12
ratings:(points:>90 good)
  query: a field is missing (in the group of `ratings` each term names one) at position 21
balance:(-5 OR 3)
  query: in a group a negative number is quoted, and an exclusion written with `NOT` at position 10
rock]
  query: `]` is not allowed in a bare word (quote the word or put a backslash before it) at position 5
c:\temp
  query: a backslash stands only before a space or an ASCII punctuation mark at position 3
"c:\temp"
  query: within quotes a backslash stands only before `"` or another backslash at position 4
```', 1),
  ('absences', 'Absences', 'For callers of the API and office staff. After this page you can request an absence, decide on one, and see who is away.

Everything here needs a session or an API token without scopes; tokens with scopes are refused. In the console it is
under **Office**.

## Request, change and cancel

`createAbsence` requests an absence of the caller: its `type` (`VACATION`, `SICK`, `PARENTAL`, `TRAINING`, `OTHER`), its
first and last day, and whether it begins or ends at noon (`startsHalfDay`, `endsHalfDay`). `updateAbsence` and
`cancelAbsence` change and withdraw it while nobody has decided on it.

Two absences of one person never overlap; a half day may end where another begins. The refusal names the dates in the
way:

```json
{ "message": "There is an absence from 2027-08-02 to 2027-08-06 already",
  "extensions": { "code": "CONFLICT", "path": ["input", "startsOn"], "absence": { "id": "…", "startsOn": "…", "endsOn": "…" } } }
```

## Decide

| permission | allows |
| --- | --- |
| none | one''s own absences |
| `absences.read` | to read the absences of everybody, with type and note |
| `absences.update` | that too, and `approveAbsence`, `declineAbsence`, to cancel and change those of others, and `enterAbsence`, which enters an approved absence for somebody else |

Nobody decides on an absence of their own. An absence is decided once; an approved one is cancelled by somebody with
`absences.update`.

## Who is away

`absences(from: "2027-07-01", to: "2027-07-31")` lists those that have a day in July; `userId`, `departmentId` and
`status` narrow it further, `query` by any other field. `departmentId` is the department that the person has now.
`userName` is their name; `user`, with their address, needs `users.read`, except for the caller''s own absences.

Lists are ordered by the first day. The console opens the list with the absences that are not over or await a decision.

Colleagues without a permission see who is away and when, not why. `awayPeriods` lists approved absences by person and
days, except those of anonymised users; `awayDays` lists who is away on each working day, by default in the seven days from today. In the console it is the
report `Who is away`:

```graphql
{ awayDays(startsOn: "2027-07-01", endsOn: "2027-07-31") { day name isHalf } }
```

The names are those at the time of the decision.

`User.awayUntil` is the last day of an absence that a person has today, `Campaign.isAuthorAway` says whether the author
is away on the day of the campaign, both in that person''s time zone.

## Working days

`workingDays` of an absence counts Monday to Friday without public holidays, half days as halves. `publicHolidays` are
rows: those of Denmark from 2025 to 2030 come with a new database, `createPublicHoliday` and its companions need
`absences.update`. `absenceBalances(year: 2027)`, in the console the report `Absence balances`, adds the working days of a
year by type, requested and approved, by default of this year; those of another person (`userId`) need `absences.read` or
`absences.update`.

Days are dates without a time zone.', 2),
  ('bookings', 'Bookings', 'For callers of the API and office staff. After this page you can book a room, a vehicle or a tasting set, find a free
one, and read the refusals.

Every session and every API token without scopes reads resources and bookings. No permission is needed; tokens with
scopes are refused. In the console they are under **Office**.

## Resources

A resource is a `ROOM`, a `VEHICLE`, a piece of `EQUIPMENT` or a `TASTING_SET`. `createResource`, `updateResource` and
`deleteResource` need `resources.update`. A resource that is not in use (`isActive: false`) cannot be booked; what is
booked already stays. A resource with bookings cannot be deleted.

`freeResources` lists the resources that nobody has booked in a time, by name; in the console it is the report
`Free resources`:

```graphql
{ freeResources(from: "2027-03-15T10:00:00Z", to: "2027-03-15T12:00:00Z", kind: ROOM, capacity: 6) { id name location } }
```

## Book, change and cancel

`createResourceBooking` books for the caller. A booking ends in the future, at most 31 days after it begins, and has no
more `attendees` than the resource has `capacity`. `updateResourceBooking` changes and `cancelResourceBooking` cancels
one''s own booking until it is over; `resourcebookings.update` allows both for everybody''s bookings. A cancelled booking
stays in the list with the status `CANCELLED`.

Two bookings of one resource never overlap; one may begin when another ends. The refusal names the booking in the way:

```json
{ "message": "Tasting room is booked from 2027-03-15 10:00 to 2027-03-15 12:00: Barolo evening",
  "extensions": { "code": "CONFLICT", "path": ["input", "startsAt"],
    "booking": { "id": "…", "title": "Barolo evening", "startsAt": "…", "endsAt": "…" }, "bookings": […] } }
```

The times in messages are in the caller''s time zone ([notifications](notifications)).

This holds for calls at the same time too: bookings of one resource are checked one after the other, and an exclusion
constraint of the database refuses whatever would still overlap.

## Series

With `repeatWeeks` (1 or 2) and `repeatUntil`, `createResourceBooking` books a series of at most 104 bookings and returns
the first:

```graphql
mutation { createResourceBooking(input: { resourceId: "…", title: "Planning", startsAt: "2027-03-15T09:00:00Z",
  endsAt: "2027-03-15T10:00:00Z", repeatWeeks: 1, repeatUntil: "2027-06-28" }) { id seriesId } }
```

Each booking has the time of day of the first in the office''s time zone, also when clocks change; a time that does not
exist is an hour later, and of a time that exists twice it is the second. Where the resource is booked at one of the
times, nothing is booked, and `extensions.bookings` lists the bookings in the way.

`resourceBookings` lists bookings by start, `resourceBookings(query: "seriesId:…")` those of a series.
`updateResourceBooking` and `cancelResourceBooking` change one booking of it. `updateResourceBookingSeries` and
`cancelResourceBookingSeries` take the id of a booking and change it and all later ones that have not ended, all or
nothing. Only the given fields change: a booking that was changed by itself keeps its other values. With new times, all
of them move as far as the booking moves, and get its duration if that changes. The error names the times of two
bookings of the series that would overlap.

## Names

`bookedByName` is the name of the person who booked, at that time. `bookedBy`, with their address, needs `users.read`, except for the
caller''s own bookings and those of colleagues in the same department. Each booking and each change of it is in the audit log under `ResourceBooking`.

## Calendar programs

`createCalendarFeed(input: { name: "Phone" })` returns a secret address (`url`) that serves iCalendar to a calendar
program: the caller''s bookings, requested and approved absences, and campaigns as author while the caller holds
`campaigns.read`, from 90 days ago to two years ahead. The address gives access to nothing else. It is shown once; the
console shows it in a dialog. Only a session creates feeds, because an API token can be revoked and a feed made with it
would stay. `calendarFeeds` lists the feeds of the caller with the time of the last read.
`revokeCalendarFeed` revokes a feed. Deactivation of the owner revokes all feeds.', 3),
  ('notifications', 'Notifications', 'For callers of the API, office staff and operators. After this page you can read notifications, choose which of them are
sent by e-mail, and add a kind by a migration.

Everything here needs a session or an API token without scopes; tokens with scopes are refused. In the console the inbox
is below **Today**, and the settings are under **Office**.

## The inbox

```graphql
{ unreadNotificationCount
  notifications(first: 20, unreadOnly: true) { nodes { id kind title body entity entityId occurrences happenedAt } } }
```

`notifications` lists the notifications of the caller, the one with the latest event first. `entity` and
`entityId` identify the row that a notification refers to. `markNotificationsRead(ids: […])` marks some as read,
`markNotificationsRead(all: true)` marks all.

Repetitions within an hour are merged: `occurrences` counts them, and the notification becomes unread again and returns
to the top. Separate outages are not merged. Notifications are kept for 60 days.

| kind | recipients | when |
| --- | --- | --- |
| `EXPORT_COMPLETED`, `EXPORT_FAILED` | the user who started the export | the export ends; not for exports of API tokens |
| `JOB_FAILED` | the user who started the job; for a job without an owner, such as a scheduled task, holders of `settings.update` | the job fails permanently; failures of one task are merged |
| `INVITATION_ACCEPTED`, `INVITATION_UNDELIVERABLE` | the inviter | the invitation is accepted, or its mail fails permanently |
| `IMPORT_ISSUES` | holders of `erpsync.read` | an import ends with more groups of issues, or more affected orders, than the previous one |
| `ERP_DOWN` | holders of `erpsync.read` | the ERP has been unreachable for ten minutes, with the start; once for each outage |
| `SEARCH_DOWN` | holders of `settings.update` | the search engine has been unreachable or rejected requests for ten minutes, or changes have waited that long, with the start; once for each outage |
| `ABSENCE_REQUESTED` | holders of `absences.update` | a colleague requests an absence; a change before the decision renews the notification |
| `ABSENCE_DECIDED` | the absent user | another user approves, declines, cancels or enters it |
| `BOOKING_CHANGED` | the user who booked | another user moves or cancels the booking; of a series, one notification with the number and the first of the changed bookings |
| `TOKEN_EXPIRING` | the owner of the API token | it expires within seven days, once; not for tokens that live for seven days or less |
| `TOKEN_CREATED` | the owner of the API token | another user creates it for them |
| `WORK_HANDED_OVER` | the new owner | another user transfers somebody''s work to them by `handOver`, with the numbers |
| `WATCH_MATCHED` | the owner of a [search watch](watches) | rows start or stop matching; the watch sets time and channel |
| `NEW_LOGIN_ADDRESS` | the user who logs in | the address (IPv6: the /64 network) had no session in the last 90 days, and another one had |

## Settings

`notificationPreferences` has one row for each kind except `WATCH_MATCHED`, because each search watch has its own channels. `inInbox`: whether notifications of the kind are unread at first.
`mail`: `OFF`, `AT_ONCE` (within a minute, even if it was read meanwhile) or `DAILY`, which sends one mail at 08:00 in the user''s time zone with the
notifications that are still unread. `updateNotificationPreference` changes a row. By default `NEW_LOGIN_ADDRESS` and `TOKEN_CREATED` are sent
at once, `EXPORT_COMPLETED` is not sent, and the other kinds are sent daily. A changed setting applies to later
notifications. A repetition after the daily mail is in the next one.

The worker sends mails through the mail server of the settings. It retries after temporary rejections and
gives up after a permanent one.

## Time zones and locales

`officeSettings` has one row with the time zone and the locale of the office. `updateOfficeSetting` needs
`settings.update`. The default is `Europe/Copenhagen`. `User.timeZone` overrides it for one user, who changes it by
`updateUser`. Messages about bookings, notifications, daily mails, invitations, exported workbooks, the assistant, the
console, and `today` in [queries](query-language) use the user''s time zone; exports as CSV and JSON
Lines are in UTC. `User.displayTimeZone` is the one in use. Where the clock of the browser has another one, the console
names it below each time to be entered. Dates of the ERP use `ERP_TIME_ZONE`.

The locale, such as `da-DK`, gives dates and numbers their form in mails about notifications and invitations, in the
console and in answers of the assistant. `User.locale` overrides that of the office, `en-GB` by default, and
`User.displayLocale` is the one in use. All texts of the service are English. Workbooks take the form of dates and
numbers from the program that opens them, and CSV and JSON Lines have one form for all.

## Another kind

A migration adds the value. A function or trigger calls `notify_users` with the ids of the recipients:

```text
alter type notification_kind add value ''STOCK_LOW'';

perform notify_users(holders_of(''products.update''), ''STOCK_LOW'', format(''%s is nearly out of stock'', new.name),
  format(''%s bottles are left.'', new.stock_quantity), ''Product'', new.id::text);
```

The job `schedule_notifications` adds the preference of a new kind to all users within a minute.', 4),
  ('watches', 'Search watches', 'For callers of the API and office staff. After this page you can save a search and receive notifications about its rows.

Everything here needs a session or an API token without scopes; tokens with scopes are refused. In the console watches
are under **Office**.

```graphql
mutation { createSearchWatch(input: { name: "Cheap Barolo", entity: "products",
  query: "barolo prices.amount:<150", events: [CREATED, MATCHES], delivery: DAILY, channels: [INBOX, EMAIL] }) { id } }
```

| field | values |
| --- | --- |
| `entity` | the name of a list that the caller can read, such as `products`, `orders` and `erpSyncRuns`; `jobs`, `notifications`, `searchWatches` and lists whose rows have no `id` are refused |
| `query` | a search in the [query language](query-language); at most 10,000 matching rows; no relative times such as `today` |
| `events` | `CREATED`: a new row matches; `MATCHES`: an existing row starts to match; `LEAVES`: a row stops matching; `CHANGED`: a matching row changed |
| `delivery` | `AT_ONCE`: within seconds; `DAILY`: at 08:00; `WEEKLY`: on Mondays at 08:00, in the user''s time zone |
| `channels` | `INBOX`, `EMAIL`: a [notification](notifications) of the kind `WATCH_MATCHED`, with up to ten names |

A watch of `erpSyncRuns` with the query `status:FAILED` reports failed imports; one of `erpImportFailures` reports orders
and customers that could not be read.

`searchWatches` lists the watches of the caller with `matchCount` (events) and `lastMatchAt`. A user has at most 50; a
handover to a user who would then have more is refused.
`updateSearchWatch` changes and `deleteSearchWatch` deletes a watch.

- A watch reads with the current permissions of its owner, again at delivery. Invisible rows are neither shown nor
  counted. Deleted rows cause no event. Deliveries of lists whose reads are audited, such as users, are in the audit log.
- The rows that match when a watch is created, its `query` changed or its pause ended are the baseline: they cause no
  event. Each later change is compared with it, also before the first evaluation. A row that another transaction
  writes during the save is reported when that transaction has ended, as `MATCHES` where the watch has this event.
- Events are not recorded while a watch is paused (`isPaused`) or its owner is inactive. After the owner was activated,
  or got the watch by a handover, the next evaluation is the baseline; it runs within a minute.
- While the owner may not read the list, the watch finds nothing; `problem` names the missing permission.
- A handover to a user who cannot read the list pauses the watch. `problem` names the permission; `updateSearchWatch`
  resumes it once the owner has it.
- A change of a related row counts as well: `notes.body:cork*` reports a customer when a note is written, and
  `customer.name:Ærø*` reports the orders of a renamed customer. `CHANGED` tells changes of the row itself and of those
  related rows that the search engine shows in a field of the list, such as the prices of a product. All
  rows are evaluated for it, at most once in ten seconds for each watch. Searches through a
  table with `@watch off`, or through a view, are refused. Computed fields, such as `isAuthorAway`, are compared only
  when the row or a related row changes.
- Deliveries of a watch within an hour are merged: the notification becomes unread again, counts all rows and lists the
  latest ten events. Rows that come after its mail was sent are in a second mail, an hour after the first.
- When a search fails, such as after its column was dropped, the service pauses the watch and sets `problem`. Resuming it
  (`isPaused: false`) compiles the search again.
- A deleted watch can be restored by its owner for seven days. It is paused then.

## How it works

Triggers add the ids of changed rows of watched tables to the outbox, the table `row_changes`, in the changing
transaction. The outbox also feeds the search engine: a change has one entry
for each reader, here `watches`. The trigger is the audit trigger of a table, or `tg__row_changes` on a readable table
with `@audit off`. The tag `@watch off` excludes a table. For a table that a search reads through
relations, each changing statement adds one entry without an id.

The workers poll the outbox five times a second and queue the job `run_watches` when it has entries of `watches`. The
schedule queues the job each minute as well, for daily and weekly deliveries. These jobs run one at a time. The job reads
a batch of changes, runs the compiled search of each affected watch as its owner, and compares the matching rows with
those of the last evaluation. One transaction records the events and removes the changes from the outbox, so no event is
lost or repeated when a worker dies.

The statement that saves a watch runs the search and stores the ids of the matching rows as one value with its
transaction snapshot. The next job writes these rows to `search_watch_rows` and skips the changes that the snapshot
sees. A transaction that does not see the new watch adds no entries for it. Therefore a job evaluates all rows once
more when the transactions have ended that ran during the save.

`npm run bench -- watches` measures the cost: 1,000 watches slow down a write of 1,000 products by up to 5 %, and their
evaluation takes 5 to 8 seconds.', 5),
  ('handbook', 'The handbook', 'For callers of the API and office staff. After this page you can read, search and write handbook pages.

Everything here needs a session or an API token without scopes; tokens with scopes are refused. In the console it is
under **Office**.

## Read and find

`documentationContents` returns the pages as a tree with their numbers, such as `2.1`; in the console it is the report
**Handbook contents**. `documentationPages` lists and filters them, and `documentationPage(id:)` reads one, with
`parent` and `children`. Every login can read published pages. Drafts are visible to their author and to holders of
`documentation.update`.
`authorName` and `updatedByName` are names that every reader sees; `author` and `updatedBy` need `users.read`.

```graphql
{ documentationContents { number title slug documentationPageId }
  documentationPageBySlug(slug: "query-language") { id slug title body }
  searchDocumentation(text: "smagning \"red wine\"") { slug title excerpt } }
```

`documentationPageBySlug` also accepts an earlier address; the `slug` of the result is the current one.
`searchDocumentation` searches title, tags and body with Danish and English word forms, best match first; in the console
it is the report **Search the handbook**. It accepts `"a phrase"`, `-word` for pages without the word, and `or`. `excerpt` is the text around the words. Words in the `query`
of the list `documentationPages` search titles and bodies for the letters themselves, without word forms. Published pages
are also in the search engine, as the collection `documentation`.

The pages about the product are read-only.

## Write

`createDocumentationPage`, `updateDocumentationPage` and `deleteDocumentationPage` need `documentation.update`.

- `slug` is the address of the page in links, by default a form of the title. It is unique. After a change the earlier
  address redirects to the page until another page uses it.
- `body` is Markdown with tables, at most 200 kB. HTML is shown as text; pictures are not shown. The target of a link to
  another page is its address. Saving fails when no page has this address. This holds for all forms of links: with a
  title, in angle brackets, after `./`, and in definitions of reference links. Links with a scheme or another path are
  not checked.
- `parentId` is the parent page; `position` orders pages with the same parent. The tree has ten levels at most. A page with
  children cannot be deleted.
- `isPublished` makes the page visible to every login.

## Versions

Each change of title, body or tags creates a version with its author. `versions` of a page needs
`documentation.update`. `restoreDocumentationVersion` restores the title, body and tags of a version as a new version.
The console shows versions in a tab, and each change with its words under **History**. Both, and `recordHistory`, need
`documentation.update`, because they show texts from before the page was published; `audit.read` shows the history too.

`documentationDifferences` compares any two versions of a page. It returns the lines of title, tags and body that only
one of them has, in the order of the texts; `line` is the number of the line in its version. When more than 1000 lines
of a field differ, it lists all lines of both. In the console it is the report **Differences of handbook versions**.

```graphql
query ($page: ID!) {
  documentationDifferences(documentationPageId: $page, fromVersion: 1, toVersion: 3) { field change line text }
}
```

Tags are part of the versions because they are content: the search finds the page by them. `slug`, `parentId`,
`position` and `isPublished` are not. Restoring an old text must not move a page, change its address or hide it, and the
old parent may not exist any more. **History** shows the changes of all fields with their authors.', 6),
  ('exports', 'Exports', 'For script authors, front-end engineers and operators. After this page you can export any list to a file, write
templates, predict what a cell holds, and operate the export workers.

A template turns the rows of a list into an Excel workbook, a CSV file or JSON Lines. Three templates of products exist from
the start. Any list is also exported [without a template](#any-list).

## A script

This script exports every product and waits for the file. It needs `curl`, `jq` and a token in `$TOKEN` with the
permissions `exports.read`, `exports.create` and `products.read`:

<!-- export script -->
```sh
ask() { curl -sS http://127.0.0.1:4000/graphql -H "authorization: Bearer $TOKEN" -H ''content-type: application/json'' -d "$1"; }

templates=$(ask ''{"query": "{ exportTemplates { id name } }"}'')
template=$(printf ''%s'' "$templates" | jq -er ''.data.exportTemplates[] | select(.name == "Price list") | .id'') || printf ''%s\n'' "$templates"

started=$(ask ''{"query": "mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }",
  "variables": {"input": {"templateId": "''"$template"''", "query": "id:*", "format": "XLSX"}}}'')
id=$(printf ''%s'' "$started" | jq -er .data.createDataExportFromTemplate.id) || printf ''%s\n'' "$started"

while
  job=$(ask ''{"query": "{ exportJob(id: \"''"$id"''\") { status exportedRows totalRows fileSize errorMessage } }"}'')
  status=$(printf ''%s'' "$job" | jq -r .data.exportJob.status)
  [ "$status" = queued ] || [ "$status" = running ]
do sleep 1; done
printf ''%s\n'' "$job"
# {"data":{"exportJob":{"status":"completed","exportedRows":2,"totalRows":2,"fileSize":3900,"errorMessage":null}},"extensions":{…}}

[ "$status" = completed ] &&
  curl -sS "http://127.0.0.1:4000/exports/$id/download" -H "authorization: Bearer $TOKEN" | jq -er .url | xargs curl -sSOJ -w ''%{filename_effective}\n''
# Price list 2026-01-31.xlsx
```

`query` takes the [query language](query-language), such as `country:Italy vintage:>=2015`; `id:*` matches every
product. `format` is `XLSX`, `CSV` or `JSONL`.

## Any list

`createListExport` exports the rows of any list that the caller may read, such as `orders`, `customers` or `campaigns`, and
of the audit log (`auditLogs`). It needs `exports.create` and the permission of the list. In the console it is the button
**Export** of a list, which takes its query, or the selected rows, its order and its columns, or a template of the list. **Save columns as
template** there opens the form of a new template with these columns.

```graphql
mutation { createListExport(input: {
  entity: "orders", query: "placedAt:>=2026-01", orderBy: ["PLACED_AT_DESC"],
  columns: ["erpOrderNumber", "placedAt", "customer.name", "totalAmount"], format: XLSX }) { id } }
```

`columns` names fields as the query language does, `relation.field` for a row that it refers to; without it, the file has
all fields of the row itself. `id:*` matches every row. For a table without a column `id`, name another column that is never empty, such as `bottles:*`. The file holds what the caller can read when it is written, at most
`EXPORT_MAX_PRODUCTS` rows. Columns of related rows that the caller may not see any more stay empty, with a note. The audit
log records the export with its query, and a read where the list records reads.

`templateId` takes the place of `columns`. The template must show the list that `entity` names:

```graphql
mutation { createListExport(input: {
  entity: "orders", query: "placedAt:>=2026-01", templateId: "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a" }) { id } }
```

- A FORM takes exactly one row, a TABLE one or several. A FORM and an uploaded workbook are exported as XLSX only.
- The file is named after the template, as is `exportJob.source`.
- The titles, widths and number formats are those of the template when the file is written. If the template was deleted or
  its fields were changed since the request, the export fails and says so.
- A template of products works as with `createDataExportFromTemplate`: the products are found when the export is requested.

## From the mutation to the file

1. `createDataExportFromTemplate(input: {templateId, query, orderBy, format})` needs `exports.create` and
   `products.read`. A FORM takes exactly one product, a TABLE up to `EXPORT_MAX_PRODUCTS`. `productIds` instead of
   `query` names the products. An unknown template or product is refused by name, and nothing starts. See [Which
   products](#which-products) and [Formats](#formats). A template of another list is for `createListExport`.
2. `exportJob(id)` and `exportJobs` need `exports.read` and show the progress. There is no subscription: ask again every
   second or two.
3. `GET /exports/<id>/download` needs `exports.read`, and for the file of a list the permissions of its rows and columns
   at that moment. It answers `{"url"}`; a browser that follows a link is sent there. For 300 seconds a browser saves
   the file from this address under the name of the template. Otherwise the answer is `{"error": {"code", "message"}}`.

| field of `exportJob` | meaning |
| --- | --- |
| `status` | `queued`, `running`, `completed`, `failed`, `cancelled` or `expired` |
| `totalRows` | known from the beginning |
| `exportedRows` | updated twice a second |
| `fileSize` | size of the file |
| `errorMessage` | a message for people |
| `notes` | what a reader of the file should know |

| status of the download | reason |
| --- | --- |
| 401, 403 | no valid token; a token without `exports.read`, or without what the file of a list needs |
| 404 | no export with this id, or someone else''s |
| 409 | waiting, running, failed or cancelled; the message says which, and why it failed |
| 410 | removed after `EXPORT_RETENTION_DAYS`: start the export again |
| 503 | the object store or the database is unavailable |

- The user who requested an export sees it in all of their sessions, also when one of their API tokens requested it, and
  after that token was revoked. An API token sees only its own exports. No permission shows an export to anyone else.
- Callers with `exports.create` only get the export that their mutation returns; to follow and download it they need
  `exports.read`.
- `cancelExportJob` stops an export within two seconds. `deleteExportJob` removes it with its file.
- The export runs with the permissions that its principal has **when it runs**. If the user was deactivated or lost
  `products.read`, or the token was revoked, before or while it runs, the export fails and says so.
- Values that the principal may not see stay empty, with a note. Ratings need `reviewers.read`, and fields of related rows
  need the permission of their list.
- All products of a file are read from one snapshot.

## Which products

Exactly one of `productIds` and `query` is needed; both, or neither, is `BAD_USER_INPUT`.

- `productIds`: rows come in the order of the ids. An id that is named twice is exported once.
- `query`: all products that match the [query language](query-language), as in `products(query:)`, beyond any page.
  `orderBy` gives the order of the rows; without it, it is the order of `products`.
- The search runs when the export is requested, with the caller''s permissions. `totalRows` is known at once. A product
  that matches later is not added. One that is deleted before the export runs is left out, with a note.
- An empty query is refused: it never means every product. `id:*` does.
- A query that matches nothing, or more than `EXPORT_MAX_PRODUCTS` products, is refused. The message says how many
  match: `query: 70310 products match, more than the 50000 of one export`.

`exportJob { query }` shows the search, and so does the audit log.

```graphql
mutation { createDataExportFromTemplate(input: {
  templateId: "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a", query: "country:Italy vintage:>=2015", orderBy: [NAME_ASC], format: CSV
}) { id totalRows } }
```

## Formats

| `format` | `exportJob.format` | media type | for |
| --- | --- | --- | --- |
| `XLSX` (default) | `xlsx` | `application/vnd.openxmlformats-officedocument.spreadsheetml.sheet` | people; every template |
| `CSV` | `csv` | `text/csv; charset=utf-8` | other programs and spreadsheets; TABLE templates of columns |
| `JSONL` | `jsonl` | `application/x-ndjson` | scripts; TABLE templates of columns |

CSV and JSONL refuse a FORM and a template that is an uploaded workbook. All formats share progress, cancellation,
retries, expiry, permissions and the audit log. None needs more memory for more rows.

| value | CSV | JSON Lines |
| --- | --- | --- |
| names of columns | first line: titles of the columns | keys of each object: fields of the columns, such as `prices.retail.DKK` |
| text | unchanged, or after an apostrophe (see below) | string, unchanged |
| integers | digits | number; a string beyond ±9,007,199,254,740,991 |
| decimals, prices | exact digits, with a point | string with exact digits, as in the API |
| dates, moments | `2026-01-31`, `2026-01-31T12:34:56.789Z` | the same, as strings |
| true, false | `true`, `false` | `true`, `false` |
| JSON | its text | the value itself |
| null | nothing between the commas, as for an empty text | `null` |

- CSV follows RFC 4180: commas, CRLF, quotes where needed, a heading.
- It begins with a UTF-8 byte order mark, without which Excel misreads every accent. Python reads it with
  `encoding="utf-8-sig"`.
- An apostrophe comes before text that a spreadsheet would take for a formula: text that begins with `=`, `+`, `-`, `@`,
  a tab, a line break or a full-width form of these signs.
  [OWASP](https://owasp.org/www-community/attacks/CSV_Injection) advises this. Numbers never get it: `-3` stays `-3`.
- CSV has no types. Excel drops the leading zeros of product numbers unless the column is imported as text.
- Widths and number formats of a template count in workbooks only.

## Templates

`exportTemplates` (`exports.read`) lists them; `createExportTemplate`, `updateExportTemplate` and `deleteExportTemplate`
need `exporttemplates.update`. A template shows one list, `entity`, by default `products`, which cannot be changed later. A
template has columns:

```graphql
mutation { createExportTemplate(input: { name: "For the web shop", kind: TABLE, columns: [
  { field: "erpProductNumber" }, { field: "name", title: "Wine", width: 40 }, { field: "prices.retail.DKK", numberFormat: "#,##0.00" }
] }) { id } }
```

or an uploaded workbook. A FORM of columns is a sheet of lines, with the titles at the left. A template of another list names
it:

```graphql
mutation { createExportTemplate(input: { name: "Orders by customer", entity: "orders", kind: TABLE, columns: [
  { field: "erpOrderNumber", title: "No.", width: 14 }, { field: "customer.name" }, { field: "totalAmount", numberFormat: "#,##0.00" }
] }) { id } }
```

Its fields are those of the rows and of rows that they refer to. `listExportFields(entity: "orders")` lists them with
their titles. `exportFields` lists those of products:

- every readable column of products, and the columns of rows they refer to (`wineType.name`);
- values that functions compute from them;
- prices as `prices.<type>.<currency>`, ratings, and the first picture;
- each column that a migration adds, under its name or the title in `@export <title>` of its comment, unless the comment
  has `@export off`.

Upload a workbook first, then use its id in a template. `entity` in the address names the list whose fields the placeholders
may name, such as `entity=orders`; without it, `products`. The template must show the same list:

```sh
curl -s "http://127.0.0.1:4000/exports/workbooks?kind=TABLE&name=Prices.xlsx" -H "authorization: Bearer $TOKEN" \
  -H ''content-type: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'' --data-binary @Prices.xlsx
# {"workbookId":"01a1…","entity":"products","kind":"TABLE","fileName":"Prices.xlsx","fileSize":7214,"fileSha256":"fbaf…","placeholders":[{"sheet":"Prices","cell":"A2","field":"name"}]}
```

```graphql
mutation { createExportTemplate(input: { name: "Our prices", kind: TABLE, workbookId: "01a1ff16-8e7a-7109-b3d7-607fcb2d318f" }) { id } }
```

An unsuitable workbook is refused with 400. The answer has the first 20 `problems`, each with sheet, cell and reason,
and the number of all in `problemCount`. A workbook that no template uses is removed a day after its upload; when its
last template is deleted, it is kept for the seven days in which the template can be restored.

| limit of a workbook | value |
| --- | --- |
| bytes | 10 MiB |
| unpacked | 64 MiB |
| parts | 2,000 |
| cells and other XML elements | 300,000 |
| placeholders | 10,000 |
| characters of formulas | about 2,000,000; a shared formula counts for each of its cells |
| time and memory of the reading thread | 15 s, 512 MB; beyond, 400 |
| files read at once | one, and 16 wait; beyond, 503 with `Retry-After` |

In forms, the worker fetches the product''s first image. It must be PNG or JPEG, within 5 MiB and
10 s, and come over https from the public internet only, or from `EXPORT_IMAGE_HOSTS` only. The
address is checked when the connection is made. A picture that cannot be fetched leaves its cell empty, with a note.

## Values in cells

| value | cell |
| --- | --- |
| text | text; nothing is ever written as a formula |
| text that Excel would reinterpret on editing | marked as text (`quotePrefix`), see below |
| product numbers with leading zeros | text; tables tell Excel not to mark it as an error |
| any Unicode, spaces at the ends, line breaks | kept; a cell of several lines wraps |
| characters that XML cannot hold | `_xHHHH_`, which Excel and LibreOffice show as the character |
| a literal `_x0041_` in the text | the same text |
| half a surrogate pair | U+FFFD, noted |
| text beyond 32,767 characters (UTF-16 units) | cut there, at a whole character, noted |
| integers and decimals | numbers |
| a number with more than 15 digits, all before the point | text, noted: the last digits of identifiers matter |
| a number with more than 15 digits, some after the point | the nearest number that a cell can hold, noted |
| a number beyond ±9.99999999999999E+307 | text, noted |
| a number nearer to zero than 2.2250738585072E-308 | text, noted |
| `NaN`, infinity | text, noted |
| dates from 1 March 1900 to the end of 9999 | dates; times are those of the user''s time zone (`User.timeZone`, else the office''s) |
| dates before or after | text as `1899-12-31`, noted |
| a value that is not a date in a date column | text, noted |
| true and false | booleans |
| web and mail addresses in a column of addresses | hyperlinks: the first 65,530 of a sheet, up to 2,079 characters; else text |
| null, empty text | an empty cell |

Excel would reinterpret text that begins with `=`, `+`, `-`, `@`, a tab, a return or a digit. It also counts a 29
February 1900 that did not exist, so programs disagree about earlier dates.

Notes are sentences for people, one for each column and reason, with the number of cells and the first of them:
`Price, 2 cells (the first is C17): what is no number is kept as text`.

## Tables

- A table has a bold, frozen heading with a filter, repeated on each printed page. It has widths, number formats,
  landscape pages as wide as the table, and document properties.
- After 1,048,576 rows it continues in another sheet, `Name (2)`, with the same heading.
- The name of a sheet loses `: \ / ? * [ ]`, control characters and everything beyond 31 UTF-16 units. A blank name
  becomes `sheet`. `History`, which Excel reserves, becomes `History sheet`.
- More than 16,384 columns, a number format that Excel rejects and a width beyond 255 are refused before anything is
  written.
- Rows are read no faster than the destination accepts them. Memory does not grow with the rows, the event loop
  continues every few milliseconds, and a cancelled table ends at once.

`npm run bench -- workbooks` compares writers. For 100,000 rows of 20 mixed columns, on two busy cores:

| writer | processor seconds | rows/s | peak MiB |
| --- | --- | --- | --- |
| exceljs, streaming | 7.6 | 9,400 | 258 |
| hucre, `writeXlsxStream` | 4.1 | 13,600 | 166 |
| `writeTable` | 2.2 | 25,200 | 221 |

On an idle machine `writeTable` reached 56,000 rows/s. It keeps about 10 MiB; the rest of the peak is memory that V8
takes for fast allocation, and it is the same for a million rows.

`writeTable` writes its own XML over the ZIP library `yazl`, because the streaming writers of libraries are slower and
lack features. exceljs has no `quotePrefix` and does not wait for a slow destination. The streaming writer of hucre has
no filter, heading style or document properties, and writes a literal `_x0041_` so that it is read as `A`.

## Uploaded workbooks

A workbook saved as `.xlsx` becomes a template by placeholders in its cells: `{{price}}`.

- A placeholder alone in its cell is replaced by a typed value, in the format of the cell. A date in a cell without a
  date format gets the short date of the reader''s country.
- A placeholder within a text is replaced by text (dates as `2026-01-31`, times in the user''s time zone), in the format of the
  placeholder''s first character.
- The placeholder of a picture is alone in its cell, or in merged cells. The picture is centred and scaled to fit, with
  its aspect ratio. Anything but PNG or JPEG leaves the cell empty.
- A FORM is filled with exactly one record, on all of its sheets and in their headers and footers (as text, cut at their
  limit of 255 characters).
- In a TABLE, the rows with placeholders are repeated for each record. They must be one block on one sheet. Rows merged
  with the cell of a placeholder belong to the block. Without records the rows stay, empty.
- The export''s `notes` list values that a cell cannot hold (see the table above), values that were cut, and values that
  are not pictures, with the field, the number of cells and the first of them.

Everything else stays. Only the necessary characters of the necessary parts change; every other part is byte for byte
the uploaded one. Cached results of formulas and charts are dropped, and programs compute them when they open the file.

### What moves in a TABLE

Cells below the repeated rows move down. Ranges that contain all of the repeated rows, or end in them, grow. This
applies to:

- formulas on all sheets, defined names, print areas, page breaks;
- conditional formats, validations, filters, tables, merged cells;
- hyperlinks and their targets, comments;
- series of charts, sources of pivot tables;
- pictures, shapes and charts that begin below. Those that begin above or in the repeated rows keep place and size.

Comments in repeated rows stay with the first record; merged cells and hyperlinks are repeated for each.

| formula | reference | becomes |
| --- | --- | --- |
| elsewhere | `SUM(C5:C5)`, `SUM(C5)`, where row 5 is repeated | all records |
| elsewhere | `C5`, `C5*2` | the first record |
| in a repeated row | `C5*D5` | its own record |
| | `C5/SUM(C$5:C$5)` | all records |
| | `SUM(C$5:C5)` | the records so far |
| | `E4` in the cell `E5` (the same cell of the row before) | that of the record before |
| | any other cell, with or without `$` | that cell, wherever it moves |

A single cell means all records in SUM, AVERAGE, COUNT, COUNTA, MIN, MAX, SUBTOTAL and similar functions. References in
texts (`INDIRECT("C9")`) stay as they are, as when Excel inserts rows.

### What is refused, with the sheet, the cell and the reason

Placeholders:

- of unknown fields (the message names the nearest field), with broken braces, or in formulas;
- where nothing fills them: charts, text boxes, comments, headings of tables, names;
- in headers and footers of a TABLE, which are printed once for many records.

What cannot be moved correctly in a TABLE:

- placeholders in rows apart or on two sheets;
- merged ranges that reach out of the repeated rows;
- ranges over a part of several repeated rows;
- formulas of formats and validations on repeated rows that name other rows without `$`;
- formulas over several sheets at once (`A:C!B5`): rows move on one of the sheets only;
- array formulas, data tables and sparklines in repeated rows;
- form controls, scenarios and pivot tables on the same sheet.

What runs or reaches outside:

- macros, embedded objects, controls, add-ins;
- links to other workbooks, data connections and queries, pictures from the web;
- functions such as WEBSERVICE, IMAGE and RTD.

Hyperlinks are accepted: they are followed only when somebody clicks.

Files:

- signed, encrypted and shared workbooks, `.xls`, `.xlsm`, `.xlsb`, `.xltx`, `.ods`, Strict Open XML;
- more than 10 MiB, 64 MiB unpacked, 2,000 parts, or a part that grows more than 250 times;
- 300,000 XML elements (about 150,000 cells), elements nested deeper than 200, formulas beyond 8,192 characters;
- XML with a document type definition or its own entities, names that lead out of the package, parts that overlap.

### How workbooks are tested

- Every kind of written package is checked for what Excel is strict about (`test/helpers/xlsx/packageProblems.ts`): the
  order of elements, rows and cells, content types, relations and their targets, indexes of styles and shared strings,
  unique names, merged ranges, lengths.
- Where `XLSX_SCHEMAS` names a folder with the schemas of ECMA-376 (transitional; `sml.xsd` and its includes), packages
  are also validated against them. The schemas cannot be distributed with this repository.
- Workbooks made by LibreOffice (`test/xlsx/fixtures`, with the script that made them) are filled and compared part by
  part with the original. Where LibreOffice is installed, the tests let it open the results and compare what it
  computes.
- Excel itself is not part of the tests.

## For operators

### Files

- Files are in the bucket `S3_BUCKET` of any S3, under the name of the tenant schema:
  `<schema>/exports/<export>/<attempt>.<format>` and `<schema>/workbooks/<id>.xlsx`. Files of an isolated test run are
  under its own schema and are removed with it.
- The bucket belongs to one database. It is created if it is missing and the key may do that.
- The service uses only these features of S3: put, get and delete objects, multi-part uploads and their listing by full
  name, listing by prefix, links signed with version 4. It uses no ACLs, versions, life-cycle rules, or checksums beyond
  that of the signature.
- `S3_PUBLIC_ENDPOINT` is the address for browsers. A proxy there must not change the Host header.

### No lost and no orphaned files

- A row of `stored_files` is written before the first byte of a file is sent. It is deleted after the file was removed
  twice, 15 minutes apart.
- Each attempt has its own file. The record names one in the transaction that ends the job.
- A worker that dies is replaced within half a minute. After three deaths in a row the export fails.
- The job `clean_exports` runs every five minutes. It also removes files under `<schema>/exports/` that are older than
  an hour and not in `stored_files`, as after a restore (log line `files removed that nobody knew of {orphans}`). It
  ignores workbooks and other schemas. `clean_assistant` does the same under `<schema>/assistant/`.
- While the object store is unavailable, exports say so and are retried five times within 90 seconds. Then they fail
  with that reason. Everything else continues.

### Memory and time

- A cursor reads a few hundred rows at a time, and the file is sent in parts of 5 MiB. Nothing is written to disk,
  except the rows of a TABLE of an uploaded workbook, which go through a temporary file.
- The ids of the products stay in the database, and hyperlinks are written in pieces. An export keeps about 40 MiB of
  heap and 20 to 40 MiB of buffers for any number of rows.
- The rest of the peak is memory that V8 takes for fast allocation. Start workers with `--max-semi-space-size=16`, which
  limits it: 50,000 rows took 196 MiB with it and 291 MiB without, in the same time (one run each, on an idle machine).

`npm run bench -- exports 50000,500000` exports products with 30 columns through server, worker and object store,
ordered by name, beside the streaming writer of exceljs fed from memory in the same run. One round without that option,
on two cores shared with a dozen other processes; compare the seconds with each other only:

| export | seconds | rows/s | processor seconds of the process | peak MiB |
| --- | --- | --- | --- | --- |
| 50,000 rows, whole path | 6.9 | 7,300 | 3.0 | 289 (170 before it begins) |
| 50,000 rows, exceljs | 7.2 | 6,900 | 4.0 | 211 |
| 500,000 rows, whole path | 80 | 6,200 | 22.9 | 354 (152 before it begins) |
| 500,000 rows, exceljs | 187 | 2,700 | 53.4 | 1,028 |
| 120,000 rows, whole path, nothing else running | 7.3 | 16,500 | 6.8 | 324 (154 before it begins) |
| 120,000 rows, exceljs, nothing else running | 12.4 | 9,700 | 12.6 | 354 |

The database is then the limit: products in an order other than that of their storage are read from all over their
tables. With data beyond `shared_buffers` each row took four times as long as in the stored order.

### Fair scheduling

- An export uses one of the worker''s jobs and one connection. `EXPORT_CONCURRENCY` exports run at a time, over all
  workers. Keep it below `WORKER_CONCURRENCY`, so that even a single worker has room for other jobs.
- Two exports of one user, tokens included, run at a time, but at most one fewer than
  `EXPORT_CONCURRENCY` (unless that is 1). So no user holds every slot.
- A free slot goes to the user with the fewest running exports; among those, to the user whose last export started
  longest ago. The exports of one user start in the order of their requests. Long exports of one user thus take at most
  two of three slots, and nobody waits for ever.
- Both settings are settings of the workers and should be the same for all.

How it works:

- A new export waits in `export_jobs`; it is not in the queue yet.
- Each transaction that adds an export or frees a slot queues the job `start_exports`. It takes a lock of the tenant
  schema, deletes slots (`export_slots`) whose queue job has ended or was given up, and queues the next exports with a
  slot each.
- A slot lives as long as its job: through retries, and until the worker of a cancelled export has stopped. The export
  of a killed worker keeps its slot and continues in another worker.
- `clean_exports` also starts waiting exports, every five minutes.
- Each isolated test run has its own slots.

### The emulator of the object store

Outside production it is [s3rver](https://github.com/20minutes/s3rver) with additions: unsigned requests are refused,
unfinished uploads can be listed and aborted, and files appear completely or not at all. It does not check hashes of
what it receives, has one key, and flushes nothing to disk. It is not for production.', 7),
  ('scripts', 'Write a script', 'For people whose programs talk to the back office. After this page you have a token, a Python script and a TypeScript
client that read a whole list, and you know what to do when a request fails. A test runs the Python and TypeScript
examples.

## Get a token

A program acts for a user with an API token. Create one in the playground, or with any client that is logged in:

```graphql
mutation {
  createMyApiToken(input: { name: "Nightly report", scopes: ["products.read"] }) {
    token
  }
}
```

The answer shows the token once. With `scopes` the token holds these permissions of yours and no others; without
`scopes` it holds all of them. Keep it in an environment variable, never in the script:

```sh
export BACK_OFFICE_URL=http://127.0.0.1:4000
export BACK_OFFICE_TOKEN=boa_...
```

If a token has leaked, the program ends it with `mutation { revokeCurrentApiToken }`. Access describes
tokens and permissions in full.

## Read all pages: Python

This needs only Python 3.9 or newer. It prints every matching product, page by page, and waits when the service asks for
it.

<!-- products.py -->
```python
import json
import os
import time
import urllib.error
import urllib.request

URL = os.environ.get("BACK_OFFICE_URL", "http://127.0.0.1:4000") + "/graphql"
TOKEN = os.environ["BACK_OFFICE_TOKEN"]


def ask(query, variables=None, idempotency_key=None, attempts=5):
    """Sends one operation and returns its data. Tries again after 429, 503 and lost connections."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    if idempotency_key:
        headers["Idempotency-Key"] = idempotency_key
    body = json.dumps({"query": query, "variables": variables}).encode()
    for attempt in range(1, attempts + 1):
        wait = 2**attempt
        try:
            request = urllib.request.Request(URL, data=body, headers=headers)
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = json.load(response)
            if answer.get("errors"):
                raise RuntimeError("; ".join(error["message"] for error in answer["errors"]))
            return answer["data"]
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or attempt == attempts:
                raise RuntimeError(f"HTTP {error.code}: {error.read().decode()}") from error
            wait = int(error.headers.get("Retry-After", wait))
        except urllib.error.URLError:
            if attempt == attempts:
                raise
        time.sleep(wait)


PRODUCTS = """
query Products($query: String, $after: Cursor) {
  products(query: $query, first: 250, after: $after) {
    nodes { erpProductNumber name vintage }
    pageInfo { hasNextPage endCursor }
  }
}
"""


def products(query):
    after = None
    while True:
        page = ask(PRODUCTS, {"query": query, "after": after})["products"]
        yield from page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


for product in products("vintage:>=2015"):
    print(product["erpProductNumber"], product["name"], product["vintage"])
```

Put values from outside into `queryValues`, so that nothing in them needs escaping:
`products(query: "name:$name", queryValues: {name: "Château (Le Petit)"})`; see
[Bound values](query-language).

## Read all pages: TypeScript

[GraphQL Code Generator](https://the-guild.dev/graphql/codegen) makes types for your operations from `schema.graphql`,
which is in this repository. (Production does not answer introspection.) Copy it beside these files, then:

```sh
npm install graphql && npm install --save-dev @graphql-codegen/cli typescript @types/node
npx graphql-codegen --config codegen.ts
node src/products.ts
```

Node 22.18 or newer runs the script as it is; its `package.json` says `"type": "module"`.

<!-- codegen.ts -->
```ts
import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "schema.graphql",
  documents: ["src/*.ts"],
  generates: {
    "src/gql/": {
      preset: "client",
      config: {
        documentMode: "string",
        enumsAsTypes: true,
        useTypeImports: true,
        importExtension: ".ts",
        strictScalars: true,
        scalars: {
          ID: "string",
          BigFloat: "string",
          BigInt: "string",
          Cursor: "string",
          Date: "string",
          DateTime: "string",
          JSON: "unknown",
        },
      },
    },
  },
};
export default config;
```

<!-- src/products.ts -->
```ts
import type { TypedDocumentString } from "./gql/graphql.ts";
import { graphql } from "./gql/index.ts";

const { BACK_OFFICE_URL = "http://127.0.0.1:4000", BACK_OFFICE_TOKEN } = process.env;

async function ask<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const response = await fetch(`${BACK_OFFICE_URL}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${BACK_OFFICE_TOKEN}` },
    body: JSON.stringify({ query: document.toString(), variables }),
  });
  const { data, errors } = (await response.json()) as {
    data: Data;
    errors?: { message: string }[];
  };
  if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
}

const Products = graphql(`
  query Products($query: String, $after: Cursor) {
    products(query: $query, first: 250, after: $after) {
      nodes {
        erpProductNumber
        name
        vintage
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

async function* products(query: string) {
  let after: string | null | undefined;
  for (;;) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(query, after);
    yield* page.nodes;
    if (!page.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}

async function readPage(query: string, after: string | null | undefined) {
  return (await ask(Products, { query, after })).products;
}

for await (const { erpProductNumber, name, vintage } of products("vintage:>=2015"))
  console.log(erpProductNumber, name, vintage);
```

Custom scalars are strings; `@specifiedBy` in the schema names the document that defines each. Money (`BigFloat`) stays
a string on purpose: JavaScript''s numbers cannot hold every decimal fraction.

## Export

To get many products as an Excel workbook, CSV or JSON Lines, start an export and download its file.
[Exports](exports) has a script. Its token needs the scopes `exports.read` and `exports.create` beside
`products.read`.

## Change data

Repeat a mutation only with an `Idempotency-Key`. Give `ask` a new UUID for each change, and the same UUID when you
repeat it. A stored answer has the header `Idempotent-Replayed: true`. Errors has the
details.

To change only what you have read, ask for `rowVersion` with the row and pass it on as `ifVersion`:

```graphql
mutation ($id: ID!, $seen: String!) {
  updateProduct(id: $id, input: { region: "Piedmont" }, ifVersion: $seen) {
    rowVersion
  }
}
```

Where somebody has changed the row since, nothing changes. The answer is `CONFLICT` with `extensions.conflict`:
`changedAt` and `changedBy`, a user''s `id` and `name`. Read the row again and decide. `recordHistory` shows what was
changed. Decisions about rows that people edit, such as `approveAbsence`, take `ifVersion` too.

To give many rows the same values, name them by `query` or by `ids`, up to 5,000 in one operation. All are changed or
none; `extensions.row` of an error has the id and the name of the row that cannot be changed. An operation has at most three
such fields. Try it with `dryRun` first:

```graphql
mutation {
  updateProducts(query: "region:Piemonte", input: { region: "Piedmont" }, dryRun: true) {
    matched
    changed
    unchanged
  }
}
```

The version covers all fields: the service merges nothing. A script that merges its change with the new row treats an
amount and its currency as one value, as the console does: 300 `DKK` that became `EUR` meanwhile are not 300 `EUR`.
`console { entities { fields { name currencyField } } }` names the currency of each amount. Without `ifVersion`, send
both fields.

## When a request fails

| answer | meaning | what to do |
| --- | --- | --- |
| HTTP 200 with `errors` | the operation was refused; `extensions.code` says why, `extensions.path` names the argument | read the message; do not repeat unchanged |
| HTTP 429 | too many requests or too much cost in this minute | wait for `Retry-After` seconds |
| HTTP 503 | the service or its database is busy or away; nothing was changed | wait for `Retry-After`, repeat |
| no answer | the connection was lost; a mutation may have been done | repeat with the same `Idempotency-Key` |
| code `UNAUTHENTICATED` | the token is unknown or has ended | make a new token |
| code `FORBIDDEN` | `extensions.requiredPermission` is missing | ask for the permission, or for a wider scope |
| code `CONFLICT` | the state does not allow it, or another caller was faster | read again, decide again |

Clients that send `Accept: application/graphql-response+json` get HTTP 400 and others for an operation that was not
executed, such as one with an unknown field. A field without its permission, or with an ended token, stays HTTP 200 with
`errors` (errors).', 8)
) as t(slug, title, body, position)
on conflict (slug) do update set title = excluded.title, body = excluded.body, position = excluded.position
where documentation_pages.is_built_in
  and (documentation_pages.title, documentation_pages.body, documentation_pages.position)
    is distinct from (excluded.title, excluded.body, excluded.position);
