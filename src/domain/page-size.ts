/** The most entries on one page of a listing, and their number where none is asked for. */
export const MAX_PAGE = 1000;
