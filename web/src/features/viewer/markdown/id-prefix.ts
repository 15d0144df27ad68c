/** What the ids of a document begin with, so that they are none of the page's. */
export const ID_PREFIX = 'user-content-';
