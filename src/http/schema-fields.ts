import { Type } from 'typebox';
import { MAX_PAGE } from '../model/store.ts';

/* The fields that several JSON shapes of the HTTP API share. Browsers also use this file. */

export const success = Type.Literal(true);

/** The maximum number of items on a page. */
export const pageLimit = (description: string, defaultLimit: number = MAX_PAGE) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: defaultLimit, description }));

/** The query parameter that selects a page. */
export const cursor = Type.Optional(Type.String({ description: 'The `cursor` of the previous page.' }));

/** The field of a response from which clients request the next page. */
export const nextCursor = Type.Optional(
  Type.String({ description: 'The cursor of the next page. Absent on the last page.' }),
);
