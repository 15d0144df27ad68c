import { type Static, Type } from 'typebox';
import { MAX_PAGE } from '../model/store.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/*
 * The JSON shapes of the HTTP API: the single source for validation, types and the OpenAPI document. The web UI imports
 * its types from here, so this file and its imports must work in browsers.
 */

export const Failure = Type.Object(
  {
    success: Type.Literal(false),
    code: Type.Unsafe<ErrorCode>({
      type: 'string',
      enum: Object.keys(ERROR_CODES),
      description:
        'The stable error code, for programs and translations. `components/schemas/ErrorCode` describes each.',
    }),
    error: Type.String({ description: 'What was wrong, with which value, and what to do, for people.' }),
  },
  { title: 'Failure' },
);
export type Failure = Static<typeof Failure>;

export const Success = Type.Object({ success: Type.Literal(true), message: Type.String() }, { title: 'Success' });

export const Ready = Type.Object(
  {
    success: Type.Literal(true),
    message: Type.String(),
    quota: Type.Optional(
      Type.Object(
        {
          limit: Type.Integer(),
          remaining: Type.Integer(),
          reset: Type.String({ format: 'date-time', description: 'When `remaining` is `limit` again.' }),
        },
        { description: 'The requests that the backend of the store takes, where it takes only so many.' },
      ),
    ),
  },
  { title: 'Ready' },
);

const successWith = <Field extends string>(field: Field, description: string) =>
  Type.Object(
    {
      success: Type.Literal(true),
      message: Type.String(),
      ...({ [field]: Type.String({ description }) } as Record<Field, ReturnType<typeof Type.String>>),
    },
    { title: `Success with ${field}` },
  );

export const Uploaded = successWith('path', 'The path of the file.');
export const FileRenamed = successWith('newKey', 'The new path of the file.');
export const FolderRenamed = successWith('newPrefix', 'The new path of the folder, with a trailing "/".');

/** One progress line of a folder operation. */
const ProgressLine = Type.Union([
  Type.Object(
    {
      progress: Type.Object({
        done: Type.Integer({ description: 'Files.' }),
        total: Type.Union([Type.Integer(), Type.Null()], { description: 'Files; null while it is not known.' }),
        bytes: Type.Integer(),
      }),
    },
    { title: 'Progress' },
  ),
  Type.Object(
    {
      success: Type.Boolean(),
      message: Type.Optional(Type.String()),
      code: Type.Optional(Type.String()),
      error: Type.Optional(Type.String()),
      status: Type.Integer({ description: 'The status that the usual answer would have had.' }),
    },
    { title: 'The last line', description: 'The usual answer, or the failure, and its status.' },
  ),
]);

/** Adds a progress stream to a JSON response, for clients that accept it. */
export function withProgress<Schema>(schema: Schema) {
  return { content: { 'application/json': { schema }, 'application/x-ndjson': { schema: ProgressLine } } };
}

export const Listing = Type.Object(
  {
    success: Type.Literal(true),
    prefix: Type.String({ description: 'The folder that is listed: empty for the root, else with a trailing "/".' }),
    entries: Type.Array(
      Type.Union([
        Type.Object(
          {
            type: Type.Literal('folder'),
            name: Type.String(),
            path: Type.String({ description: 'With a trailing "/".' }),
          },
          { title: 'Folder' },
        ),
        Type.Object(
          {
            type: Type.Literal('file'),
            name: Type.String(),
            path: Type.String(),
            size: Type.Integer({ description: 'Bytes.' }),
            modified: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
              description: 'When it was written, or null where the store does not know.',
            }),
            contentType: Type.String(),
            etag: Type.String({ description: 'Quoted, as in the ETag header.' }),
            publicUrl: Type.Optional(
              Type.String({ description: 'Where everybody may read the file; there only if the bucket is public.' }),
            ),
          },
          { title: 'File' },
        ),
      ]),
      { description: 'In the order of their paths\' UTF-8 bytes, a folder compared with its "/".' },
    ),
    cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent on the last one.' })),
    rights: Type.Optional(
      Type.Array(Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('manage')]), {
        description: 'What the asker may do in this folder; there only where an access file says who may what.',
      }),
    ),
  },
  { title: 'Listing' },
);
export type Listing = Static<typeof Listing>;

export const ListingQuery = Type.Object({
  prefix: Type.Optional(Type.String({ description: 'The folder, where it is not given as the path.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: MAX_PAGE, description: 'The most entries to give.' }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The `cursor` of the page before.' })),
  preview: Type.Optional(
    Type.String({
      description: 'For the web page, which shows the file of this name; it changes nothing of a listing.',
    }),
  ),
});

/** The data that the web UI's document embeds. */
export interface Embedded {
  /** The root of the service, relative to the URL of the document, with a trailing `/`. */
  readonly base: string;
  /** The requested folder; empty for the root, and if the URL names no folder. */
  readonly folder: string;
  /** The status of the JSON response, which the document also has. */
  readonly status: number;
  readonly answer: Listing | Failure;
  /** Whether every change is refused. */
  readonly readOnly: boolean;
  /** Maximum size of an upload in bytes; null if only the store has a limit. */
  readonly maxUploadSize: number | null;
  /** The user, and the available sign-in methods; null if access control has no users. */
  readonly access: { readonly name: string | null; readonly signIn: SignIn } | null;
}

/** The available sign-in methods: password, identity provider. */
export const SignIn = Type.Object({ password: Type.Boolean(), provider: Type.Boolean() });
export type SignIn = Static<typeof SignIn>;

export const FileQuery = Type.Object({
  download: Type.Optional(Type.String({ description: "`1`: as an attachment of the file's name." })),
});

const overwrite = Type.Optional(
  Type.Boolean({ default: false, description: 'Replace what is at the destination; without it, that is a 409.' }),
);

export const Rename = Type.Object({
  newName: Type.String({ description: 'One name, without "/".' }),
  overwrite,
});

export const Transfer = Type.Object({
  source: Type.String({ description: 'The path of the file or folder.' }),
  destination: Type.String({ description: 'The path that it is to have.' }),
  is_folder: Type.Boolean({ description: 'Whether a folder with everything in it is meant, or a file.' }),
  overwrite,
});

export const CreateFolder = Type.Object({
  path: Type.String({ description: 'The path of the new folder; parents are made as well.' }),
});

export const Upload = Type.Object({
  file: Type.String({
    format: 'binary',
    description: "The file; its name is the last segment of the part's file name.",
  }),
  prefix: Type.Optional(
    Type.String({ description: 'The folder to put it in; the root where it is missing. Before or after the file.' }),
  ),
  modified: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'The modification time to keep, if the store keeps times. Before or after the file.',
    }),
  ),
});

/** The path parameter of routes for a file or folder. It can contain "/". */
export const PathParameter = Type.Object({ '*': Type.String({ description: 'The path; it may contain "/".' }) });
