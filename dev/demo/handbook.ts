/** The demo's pages of the handbook; `below` is the title of the page above. */
export const demoPages = [
  {
    title: "The house",
    body: `Welcome. This is how we work here; please correct mistakes that you find.

- [When you are away](when-you-are-away)
- [Tastings](tastings)

How to find wines, orders and customers is in [the query language](query-language).`,
    tags: ["start"],
  },
  {
    title: "When you are away",
    below: "The house",
    body: `Ask for leave under **Absences**, at least two weeks before. Your manager decides within three days.

| kind | notify |
| --- | --- |
| vacation, parental | your department |
| sick | your manager, before nine o'clock |

Book no [tasting](tastings) for days on which you are away.`,
    tags: ["leave", "ferie"],
  },
  {
    title: "Tastings",
    below: "The house",
    body: `1. Book the tasting room and a set of glasses.
2. Write the campaign, with the wine.
3. Open the bottles an hour before.

> Spittoons are in the kitchen.`,
    tags: ["smagning"],
  },
] as const;
