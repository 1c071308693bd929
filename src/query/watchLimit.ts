/** The rows that a search watch may match: the database stores their ids. */
export const maxWatchedRows = 10_000;
