/**
 * What a grant can give in a folder and everything below it: `read` is to list and fetch, `write` to upload new files
 * and create folders, `manage` to rename, move, replace and delete what is there. None of them has another in it.
 */
export const RIGHTS = ['read', 'write', 'manage'] as const;

export type Right = (typeof RIGHTS)[number];
