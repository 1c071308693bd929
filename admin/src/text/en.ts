import { insideSentence } from "../../../src/text/insideSentence.ts";
import { formatNumber } from "./locale.ts";

/** All texts of the console. A translation is a file of the same type. */
export const en = {
  loading: "Loading",
  again: "Try again",
  cancel: "Cancel",
  /** Used beside actions that may be named Cancel. */
  goBack: "Go back",
  close: "Close",
  yes: "Yes",
  no: "No",
  none: "—",
  /** In place of the name of a row that the caller may not see. */
  notVisible: "not visible to you",
  needsPermission: (permission: string) => `That needs the permission ${permission}.`,
  crash: {
    title: "This page has failed",
    hint: "The failure is in the console, not in your data. What was saved is kept.",
    noPage: "There is no page at this address",
    notLoaded: "This page could not be loaded",
    notLoadedHint:
      "A new version of the console may have been installed, or the server does not answer.",
    partNotLoaded:
      "A part of the console could not be loaded. A new version may have been installed.",
    reload: "Reload",
    today: "Go to Today",
    copy: "Copy the details",
    details: "Details",
  },
  frame: {
    navigation: "Navigation",
    menu: "Menu",
    today: "Today",
    other: "Other",
    account: "Account",
    profile: "My profile",
    logOut: "Log out",
    theme: "Theme",
    themes: { system: "System", light: "Light", dark: "Dark" },
    search: "Search",
    keys: "Keyboard",
    skip: "Skip to the content",
    more: "More",
    less: "Less",
    moreHint: "More about this list",
    lessHint: "Less about this list",
    away: "The server does not answer. What you typed is kept: save it when the server is back.",
    back: "The server is back.",
    slow: "The server or the network is slow. Your request is still under way.",
    unread: (count: number) => `${count} unread`,
    selected: (count: number) =>
      count === 1 ? "1 row selected" : `${formatNumber(count)} rows selected`,
  },
  login: {
    with: (provider: string) => `Continue with ${provider}`,
    email: "E-mail",
    submit: "Log in",
    orDevelopment: "or, in development",
    nobody: "There are no users yet.",
    first: "Make me Superadmin",
    noWay: "No way to log in is set up. Set OIDC_PROVIDERS and start the server again.",
    ended: "Your session has ended",
    endedHint: "Log in to continue. What you typed is kept.",
  },
  handbook: {
    missing: (slug: string) => `There is no page ${slug} that you may see.`,
  },
  secret: {
    hint: "Copy this now: it is shown only once.",
    copy: "Copy",
    copied: "Copied.",
    notCopied: "The browser did not allow it: select the text and copy it yourself.",
    close: "Done",
  },
  today: {
    title: "Today",
    greeting: (hour: number, name: string) =>
      `${hour < 5 ? "Good night" : hour < 12 ? "Good morning" : hour < 18 ? "Good afternoon" : "Good evening"}, ${name}`,
    nothing: "Your permissions open no list yet. A Superadmin can give you a role.",
    changed: "Recently changed",
    needsYou: "Needs attention",
    allDone: "Nothing needs your attention.",
    notifications: "Unread notifications",
    noNotifications: "You have read everything.",
    campaigns: "Campaigns, this week",
    noCampaigns: "No campaign this week.",
    jobsFailed: (count: number) => (count === 1 ? "job failed" : "jobs failed"),
    issues: (count: number) => (count === 1 ? "import issue" : "import issues"),
    demo: "Nothing is here yet. `npm run demo` fills the system with sample data.",
  },
  list: {
    query: "Query",
    queryHint: "Words, or field:value — Enter to search",
    clear: "Clear the query",
    new: (one: string) => `New ${insideSentence(one)}`,
    export: "Export",
    formats: { XLSX: "Excel workbook", CSV: "CSV", JSONL: "JSON Lines" },
    saveTemplate: "Save columns as template …",
    withTemplate: (name: string) => `With template ${name}`,
    exported: (title: string) => `The export of ${insideSentence(title)} has started`,
    showExport: "Show it",
    notExported: "Nothing was exported",
    views: "Views",
    columns: "Columns",
    columnsHint: "Shown columns, in their order",
    resetColumns: "Reset columns",
    up: "Move left",
    down: "Move right",
    count: (count: number) => formatNumber(count),
    found: (count: number) => (count === 1 ? "1 row found" : `${formatNumber(count)} rows found`),
    empty: (title: string) => `No ${insideSentence(title)} yet`,
    emptyMayCreate: (one: string) =>
      `Press n, or the button above, to create the first ${insideSentence(one)}.`,
    emptyMayNot: (permission: string | null) =>
      `You may read these rows but not add any${permission === null ? "" : `: that needs the permission ${permission}`}.`,
    emptyPlain: "Rows appear here when the service creates them.",
    noMatch: "Nothing matches this query",
    /** Before the default query of a list. */
    only: "Only",
    sizer: "Drag to change the width, click twice to fit the rows",
    width: (title: string, pixels: number) => `${title}, ${pixels} pixels wide`,
    sortBy: (title: string) => `Sort by ${title}`,
    notSorted: (title: string) => `Rows cannot be sorted by ${title}`,
    sorted: (title: string, direction: "ascending" | "descending") =>
      `, sorted by ${title}, ${direction}`,
    select: (name: string) => (name === "" ? "Select" : `Select ${name}`),
    selectAll: "Select all that match",
    deselect: "Clear selection",
    partlySelected: (selected: number, wanted: number) =>
      `${formatNumber(selected)} of ${formatNumber(wanted)} rows are selected: the others are not loaded`,
    counted: (count: number, { title, titleOne }: { title: string; titleOne: string }) =>
      `${formatNumber(count)} ${insideSentence(count === 1 ? titleOne : title)}`,
    tooMany: (most: number) => `At most ${formatNumber(most)} rows can be deleted together`,
    tooManyChanged: (most: number) => `At most ${formatNumber(most)} rows can be changed together`,
    edit: "Edit",
    noAction: "No action applies to all selected rows",
    tooManyExported: (most: number) =>
      `At most ${formatNumber(most)} selected rows can be exported; write a query that finds them`,
    exportedRows: (count: number | undefined, isSelection: boolean) =>
      [
        isSelection ? "Selected rows" : "Rows found",
        ...(count === undefined ? [] : [formatNumber(count)]),
      ].join(": "),
    failed: "The list could not be loaded",
    correlation: "Request",
    missingTitle: (title: string) => `You may not see ${title}`,
    missing: (permission: string | null) =>
      permission === null
        ? "That needs another kind of login."
        : `That needs the permission ${permission}. A Superadmin can give it to one of your roles.`,
    unknown: (name: string) => `There is no list “${name}”`,
    unknownNames: (title: string, names: string) =>
      `${title} do not have, or no longer have: ${names}. The rest is shown.`,
    didYouMean: "Did you mean",
    unknownHint: "The name may be misspelled, or you have no permission to see it.",
    below: (title: string) => `${title} are shown with the rows that they belong to`,
    take: "Tab to accept",
  },
  record: {
    preview: "Preview",
    edit: (title: string) => `Edit ${insideSentence(title)}`,
    download: "Download",
    fields: "Fields",
    history: "History",
    save: "Save",
    saving: "Saving",
    saved: "Saved",
    created: (one: string) => `${one} created`,
    discard: "Discard",
    stay: "Stay",
    leaveTitle: "Leave with unsaved changes?",
    leaveHint: (count: number) =>
      count === 1
        ? "One field was changed and not saved."
        : `${count} fields were changed and not saved.`,
    saveAndLeave: "Save",
    delete: "Delete",
    deleting: (name: string, kept: number) =>
      kept === 0
        ? `${name} will be deleted`
        : `${name} will be deleted. ${kept === 1 ? "Another is not yours and stays." : `${formatNumber(kept)} others are not yours and stay.`}`,
    undo: "Undo",
    deleteFailed: (name: string) => `${name} was not deleted`,
    kept: (name: string, count: number) => `${name} ${count === 1 ? "was" : "were"} kept`,
    show: "Show",
    referredBy: (count: number, title: string) =>
      count === 1
        ? `1 ${insideSentence(title)} refers to it.`
        : `${formatNumber(count)} ${insideSentence(title)} refer to it.`,
    deleted: (name: string, count: number) => `${name} ${count === 1 ? "was" : "were"} deleted`,
    deletedSome: (done: number, count: number, failed: string, reason: string) =>
      `${done} of ${count} rows were deleted. ${failed} was not: ${reason}`,
    notFound: "Row not found",
    notFoundHint: "It was deleted, or your permissions do not show it.",
    changed: "changed",
    was: (before: string) => `was ${before}`,
    revert: (title: string) => `Undo the change of ${title}`,
    readOnly: "This cannot be changed.",
    ownersOnly: "Only its owner may change this.",
    needs: (permission: string | null) =>
      permission === null
        ? "Changing this needs a session."
        : `Changing this needs the permission ${permission}.`,
    open: (title: string) => `Open ${insideSentence(title)}`,
    takeAway: (name: string) => `Remove ${name}`,
    choose: "Type two letters",
    noChoice: "Nothing found",
    newChoice: (one: string, name: string) =>
      name === "" ? `New ${insideSentence(one)} …` : `New ${insideSentence(one)} “${name}” …`,
    empty: "empty",
    noNeighbour: "No next row: open a row from its list to move through them",
    linkCopied: "Link copied",
    actions: "Actions",
    done: (title: string, name: string | null) =>
      name === null ? `${title}, done` : `${title}: ${name}, done`,
    notDone: (title: string, name: string | null) =>
      name === null ? `${title}, not done` : `${title}: ${name}, not done`,
  },
  palette: {
    title: "Go to, or search",
    placeholder: "A list, a report, or the name of a row",
    lists: "Lists and reports",
    nothing: "Nothing found",
    found: (count: number) => (count === 1 ? "1 result" : `${formatNumber(count)} results`),
  },
  keys: {
    title: "Keyboard",
    off: "Single-key shortcuts",
    everywhere: "Everywhere",
    list: "In a list",
    record: "In a record",
  },
};

export type Texts = typeof en;
