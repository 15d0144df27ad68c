import { type Static, Type } from 'typebox';
import { cursor, nextCursor, pageLimit, success } from './schema-fields.ts';

/*
 * The JSON shapes of share links in the HTTP API. The web UI imports their types from `schemas.ts`, so this file and its
 * imports must work in browsers.
 */

/** A permission that a link can give. */
const linkPermission = Type.Union([Type.Literal('read'), Type.Literal('write')]);

const linkPermissions = Type.Array(linkPermission, {
  minItems: 1,
  uniqueItems: true,
  description:
    '`read`: list and download. `write`: upload. `write` alone is a file request, which shows nothing. A link to a file can only have `read`.',
});

const itemType = Type.Union([Type.Literal('file'), Type.Literal('folder')]);

const count = (description: string) => Type.Integer({ minimum: 0, description });
const limit = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
const orNull = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const LinkDescription = Type.Object(
  {
    id: Type.String(),
    path: Type.String({
      description: 'The path of the shared file or folder. Folders end with "/"; the root is empty.',
    }),
    type: itemType,
    permissions: linkPermissions,
    label: Type.Optional(Type.String({ description: 'A note, which visitors also see: one line.' })),
    creator: Type.Optional(
      Type.String({ description: 'The username of the user who created it. Absent for an anonymous user.' }),
    ),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
    hasPassword: Type.Boolean({ description: 'Whether visitors need a password.' }),
    maxDownloads: Type.Optional(count('The number of downloads that the link allows.')),
    downloads: count('The number of downloads so far.'),
    maxUploads: Type.Optional(count('The number of uploads and new folders that the link allows.')),
    uploads: count('The number of uploads and new folders so far.'),
    maxUploadBytes: Type.Optional(count('The maximum size of each uploaded file in bytes.')),
    askSender: Type.Boolean({ description: 'Whether uploads need the name of their sender.' }),
    lastUsedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Exact to the minute.' })),
    active: Type.Boolean({ description: 'Whether visitors can use the link at this moment.' }),
    inactiveReason: Type.Optional(
      Type.Union(
        [
          Type.Literal('expired'),
          Type.Literal('permission'),
          Type.Literal('item'),
          Type.Literal('downloads'),
          Type.Literal('uploads'),
        ],
        {
          description:
            'Present if the link is not active. `permission`: its creator lost the permissions that it gives, or does not manage the place to which the item moved. `item`: the file or folder is gone, or another one is at its path. `downloads`, `uploads`: the limit is reached.',
        },
      ),
    ),
  },
  { title: 'Link' },
);
export type Link = Static<typeof LinkDescription>;

const label = orNull(
  Type.String({ description: 'A note, which visitors also see: one line of at most 200 characters.' }),
);
const expiresAt = orNull(Type.String({ description: 'When the link ends, as a time of RFC 3339. Default: never.' }));
const password = orNull(Type.String({ description: 'The password that visitors must enter. It is stored hashed.' }));
const maxDownloads = orNull(limit('How many downloads the link allows. Default: any number.'));
const maxUploads = orNull(limit('How many uploads and new folders the link allows. Default: any number.'));
const maxUploadBytes = orNull(limit('The maximum size of each uploaded file in bytes.'));
const askSender = Type.Boolean({
  description: 'Whether each upload needs the name of its sender, which becomes the name of the folder of their files.',
});

/** The settings of a link. Null is the default of each. */
const settings = {
  permissions: Type.Optional(linkPermissions),
  label: Type.Optional(label),
  expiresAt: Type.Optional(expiresAt),
  password: Type.Optional(password),
  maxDownloads: Type.Optional(maxDownloads),
  maxUploads: Type.Optional(maxUploads),
  maxUploadBytes: Type.Optional(maxUploadBytes),
  askSender: Type.Optional(askSender),
};

export const CreateLink = Type.Object(
  {
    path: Type.String({ description: 'The file or folder to share. A folder ends with "/"; the root is "/".' }),
    ...settings,
  },
  { title: 'CreateLinkRequest', additionalProperties: false },
);
export type CreateLink = Static<typeof CreateLink>;

export const ChangeLink = Type.Object(settings, { title: 'ChangeLinkRequest', additionalProperties: false });
export type ChangeLink = Static<typeof ChangeLink>;

export const LinkCreated = Type.Object(
  {
    success,
    message: Type.String(),
    link: LinkDescription,
    token: Type.String({ description: 'The secret part of the URL. It is never returned again.' }),
    url: Type.String({ description: 'The URL for visitors. It is never returned again.' }),
  },
  { title: 'LinkCreated' },
);
export type LinkCreated = Static<typeof LinkCreated>;

export const LinkResponse = Type.Object({ success, link: LinkDescription }, { title: 'LinkResponse' });
export type LinkResponse = Static<typeof LinkResponse>;

export const LinkList = Type.Object(
  {
    success,
    links: Type.Array(LinkDescription, { description: 'The newest first.' }),
    cursor: nextCursor,
  },
  { title: 'LinkList' },
);
export type LinkList = Static<typeof LinkList>;

export const LinkQuery = Type.Object({
  path: Type.Optional(
    Type.String({ description: 'Only links to this file or folder. A folder ends with "/"; the root is "/".' }),
  ),
  below: Type.Optional(
    Type.String({
      description:
        'Only links to this folder and to anything in it, at any depth. Also returns the links of other users to what the user manages.',
    }),
  ),
  limit: pageLimit('Maximum number of links.', 100),
  cursor,
});
export type LinkQuery = Static<typeof LinkQuery>;

export const LinkId = Type.Object({ id: Type.String({ description: 'The ID of the link.' }) });

/* What the visitors of a link get, below `/-/s/TOKEN/`. */

/** A link as its visitors see it. */
const VisitorLinkDescription = Type.Object(
  {
    type: itemType,
    name: Type.String({ description: 'The name of the shared file or folder. Empty for the root.' }),
    label: Type.Optional(Type.String()),
    permissions: Type.Array(linkPermission, { description: 'The permissions that the link gives at this moment.' }),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
    askSender: Type.Boolean({ description: 'Whether uploads need the form field `sender`.' }),
    maxUploadBytes: Type.Optional(count('The maximum size of each uploaded file in bytes.')),
    uploadsLeft: Type.Optional(count('The number of uploads and new folders that are left. Absent without a limit.')),
    downloadsLeft: Type.Optional(count('The number of downloads that are left. Absent without a limit.')),
  },
  { title: 'VisitorLink' },
);
export type VisitorLink = Static<typeof VisitorLinkDescription>;

export const VisitorLinkResponse = Type.Object(
  { success, link: VisitorLinkDescription },
  { title: 'VisitorLinkResponse' },
);
export type VisitorLinkResponse = Static<typeof VisitorLinkResponse>;

export const LinkPassword = Type.Object({ password: Type.String() }, { title: 'LinkPasswordRequest' });
export type LinkPassword = Static<typeof LinkPassword>;
