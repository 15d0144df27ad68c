import { type Static, Type } from 'typebox';
import { CHANGE_TYPES, type ChangeType } from '../model/change.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { VisitorLink } from './link-schemas.ts';
import { cursor, nextCursor, pageLimit, success } from './schema-fields.ts';

export type { AppToken, AppTokenCreated, AppTokenList, CreateAppToken } from './app-token-schemas.ts';
export type {
  ChangeLink,
  CreateLink,
  Link,
  LinkCreated,
  LinkList,
  LinkPassword,
  LinkQuery,
  LinkResponse,
  VisitorLink,
  VisitorLinkResponse,
} from './link-schemas.ts';

/*
 * The JSON shapes of the HTTP API: the single source for validation, types and the OpenAPI document. The web UI imports
 * its types from here, so this file and its imports must work in browsers.
 */

/** The lock that forbids a change. */
const lockOfFailure = Type.Optional(
  Type.Object(
    {
      path: Type.String({ description: 'The locked file or folder.' }),
      user: Type.Optional(Type.String({ description: 'The user who holds the lock. Absent for an anonymous user.' })),
      expiresAt: Type.String({
        format: 'date-time',
        description: 'When the lock ends, unless its client refreshes it.',
      }),
    },
    { title: 'LockOfFailure', description: 'The lock that forbids the change. Only with the code `locked`.' },
  ),
);

export const Failure = Type.Object(
  {
    success: Type.Literal(false),
    code: Type.Unsafe<ErrorCode>({
      type: 'string',
      enum: Object.keys(ERROR_CODES),
      description:
        'The stable error code, for programs and translations. `components/schemas/ErrorCode` describes each.',
    }),
    error: Type.String({ description: 'The error message for users: what failed, with which value, and what to do.' }),
    lock: lockOfFailure,
  },
  { title: 'Failure' },
);
export type Failure = Static<typeof Failure>;

export const Success = Type.Object({ success, message: Type.String() }, { title: 'Success' });

const change = Type.Optional(
  Type.String({
    description: 'The ID of the change, for `POST /-/undo`. Absent while the change log is unavailable.',
  }),
);

/** The response to a change that is recorded in the change log. */
export const Changed = Type.Object({ success, message: Type.String(), change }, { title: 'Changed' });

const volumeName = Type.Union([
  Type.Literal('files'),
  Type.Literal('state'),
  Type.Literal('cache'),
  Type.Literal('temporary'),
  Type.Literal('logs'),
]);

/** A volume that the service uses: of the files, or of its own folders. */
export type VolumeName = Static<typeof volumeName>;

export const Ready = Type.Object(
  {
    success,
    message: Type.String(),
    database: Type.Optional(
      Type.Union([Type.Literal('available'), Type.Literal('unavailable')], {
        description: 'The state of the database. File operations work without it.',
      }),
    ),
    status: Type.Optional(
      Type.Literal('degraded', {
        description: 'Some functions do not work. Files can be read. Absent if everything works.',
      }),
    ),
    almostFull: Type.Optional(
      Type.Array(volumeName, {
        description:
          'The volumes with less free space than `MIN_FREE_SPACE`. If the volume of the files is one of them, it takes no new content. Absent if there is none.',
      }),
    ),
    quota: Type.Optional(
      Type.Object(
        {
          limit: Type.Integer({ description: 'Requests per hour.' }),
          remaining: Type.Integer({ description: 'Requests left.' }),
          reset: Type.String({ format: 'date-time', description: 'When the quota resets.' }),
        },
        { description: 'The request quota of GitHub. Present only for a repository.' },
      ),
    ),
  },
  { title: 'Ready' },
);

const changedWith = <Field extends string>(title: string, field: Field, description: string) =>
  Type.Object(
    {
      success,
      message: Type.String(),
      ...({ [field]: Type.String({ description }) } as Record<Field, ReturnType<typeof Type.String>>),
      change,
    },
    { title },
  );

export const Uploaded = changedWith('Uploaded', 'path', 'The path of the file.');
export const FileRenamed = changedWith('FileRenamed', 'newKey', 'The new path of the file.');
export const FolderRenamed = changedWith(
  'FolderRenamed',
  'newPrefix',
  'The new path of the folder, with a trailing "/".',
);

/** One progress line of a folder operation. */
const ProgressLine = Type.Union([
  Type.Object(
    {
      progress: Type.Object({
        done: Type.Integer({ description: 'The number of files that are done.' }),
        total: Type.Union([Type.Integer(), Type.Null()], {
          description: 'The number of all files; null while it is unknown.',
        }),
        bytes: Type.Integer({ description: 'The bytes of the files that are done.' }),
      }),
    },
    { title: 'Progress' },
  ),
  Type.Object(
    {
      success: Type.Boolean(),
      message: Type.Optional(Type.String()),
      change,
      code: Type.Optional(Type.String()),
      error: Type.Optional(Type.String()),
      status: Type.Integer({ description: 'The status that the response would have without progress.' }),
    },
    { title: 'Result', description: 'The last line: the usual response or the error, and its status.' },
  ),
]);

/** Adds a progress stream to a JSON response, for clients that accept it. */
export function withProgress<Schema>(schema: Schema) {
  return { content: { 'application/json': { schema }, 'application/x-ndjson': { schema: ProgressLine } } };
}

const JobDescription = Type.Object(
  {
    id: Type.String(),
    kind: Type.String({
      description:
        '`copy-folder`, `move-folder`, `rename-folder`, `delete-folder`, `restore-from-trash`, `delete-from-trash`, ' +
        '`empty-trash`; `expire-trash` and `deliver-webhook` of the service itself.',
    }),
    status: Type.Union([
      Type.Literal('queued'),
      Type.Literal('running'),
      Type.Literal('succeeded'),
      Type.Literal('failed'),
      Type.Literal('cancelled'),
    ]),
    user: Type.Union([Type.String(), Type.Null()], {
      description: 'The username; null for an anonymous user and for jobs of the service itself.',
    }),
    input: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'For folder operations: `source`; for deletions also `permanent`, and otherwise `destination` and `overwrite`. ' +
        'For an item in the trash: `id` and `source`; to restore it also `destination` and `rename`. To empty the trash: `folder`.',
    }),
    attempts: Type.Integer({ description: 'How often the job was started.' }),
    createdAt: Type.String({ format: 'date-time' }),
    startedAt: Type.Optional(Type.String({ format: 'date-time' })),
    finishedAt: Type.Optional(Type.String({ format: 'date-time' })),
    progress: Type.Optional(
      Type.Object({
        done: Type.Integer({ description: 'The number of files that are done.' }),
        total: Type.Union([Type.Integer(), Type.Null()], {
          description: 'The number of all files; null while it is unknown.',
        }),
        bytes: Type.Integer({ description: 'The bytes of the files that are done.' }),
      }),
    ),
    result: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'What a job that succeeded returned. `path`: the new path of the folder or item. `removed`: the number of removed items, or fewer if a process was killed meanwhile. `change`: the ID of the change, for `POST /-/undo`.',
      }),
    ),
    failure: Type.Optional(
      Type.Object(
        { code: Type.String(), error: Type.String(), lock: lockOfFailure },
        { description: 'Why the job failed. While it is queued, why the last attempt failed.' },
      ),
    ),
  },
  { title: 'Job' },
);

export const JobResponse = Type.Object({ success, job: JobDescription }, { title: 'JobResponse' });
export type JobResponse = Static<typeof JobResponse>;

export const JobList = Type.Object(
  {
    success,
    jobs: Type.Array(JobDescription, { description: 'The newest first.' }),
    cursor: nextCursor,
  },
  { title: 'JobList' },
);
export type JobList = Static<typeof JobList>;

export const JobQuery = Type.Object({
  limit: pageLimit('Maximum number of jobs.', 100),
  cursor,
  unfinished: Type.Optional(Type.Boolean({ default: false, description: 'Only jobs that are queued or running.' })),
});

/** The fields of a change, in the log or not. */
const changeFields = {
  type: Type.Unsafe<ChangeType>({
    type: 'string',
    enum: [...CHANGE_TYPES],
    description:
      '`folder.changed`: anything in the folder can have changed. `resync`: anything can have changed. Read it again.',
  }),
  path: Type.String({ description: 'The path after the change. Folders end with "/"; the root is empty.' }),
  from: Type.Optional(Type.String({ description: 'The source of a copy or move.' })),
  size: Type.Optional(Type.Integer({ description: 'The size in bytes of a file that was written or copied.' })),
  etag: Type.Optional(Type.String({ description: 'The ETag of that file, quoted as in the ETag header.' })),
  user: Type.Optional(
    Type.String({ description: 'The username. Absent for an anonymous user, and for a visitor of a share link.' }),
  ),
  link: Type.Optional(
    Type.String({ description: 'The ID of the share link through which a visitor made the change.' }),
  ),
};

const ChangeDescription = Type.Object(
  {
    id: Type.String({ description: 'The ID of the change, and the cursor of later changes. Opaque.' }),
    time: Type.String({ format: 'date-time' }),
    ...changeFields,
  },
  { title: 'Change' },
);

export const Undo = Type.Object(
  { change: Type.String({ description: 'The ID of the change, from its response or from `/-/changes`.' }) },
  { title: 'UndoRequest' },
);

export const Undone = Type.Object(
  {
    success,
    message: Type.String(),
    change,
    changes: Type.Array(Type.Object(changeFields, { title: 'UndoStep' }), {
      description: 'The changes that this request made, in their order: one or two.',
    }),
  },
  { title: 'Undone' },
);
export type Undone = Static<typeof Undone>;

export const ChangeList = Type.Object(
  {
    success,
    changes: Type.Array(ChangeDescription, { description: 'The oldest first; with `before`, the newest first.' }),
    cursor: Type.String({ description: 'The cursor of the next page. It can change although `changes` is empty.' }),
    hasMore: Type.Boolean({ description: 'Whether to request the next page at once.' }),
  },
  { title: 'ChangeList' },
);
export type ChangeList = Static<typeof ChangeList>;

export const ChangeQuery = Type.Object({
  folder: Type.Optional(
    Type.String({ description: 'Only changes in this folder, at any depth. Default: the root, for everything.' }),
  ),
  file: Type.Optional(
    Type.String({ description: 'Only changes of this file, and of the folders that contain it. Instead of `folder`.' }),
  ),
  since: Type.Optional(
    Type.String({
      description:
        'Only changes after this `cursor` or `id`; `oldest` for all changes in the log. Default: no changes, only the cursor of future ones.',
    }),
  ),
  before: Type.Optional(
    Type.String({
      description:
        'Only changes before this `cursor` or `id`, the newest first; `newest` for the last changes in the log. Instead of `since`, and not for streams.',
    }),
  ),
  limit: pageLimit('Maximum number of changes.'),
  locks: Type.Optional(
    Type.Boolean({
      description:
        'Whether a stream also has an event `locks` when locks are set, refreshed or released. Default: false.',
    }),
  ),
});
export type ChangeQuery = Static<typeof ChangeQuery>;

export const Listing = Type.Object(
  {
    success,
    prefix: Type.String({ description: 'The listed folder, with a trailing "/"; empty for the root.' }),
    entries: Type.Array(
      Type.Union([
        Type.Object(
          {
            type: Type.Literal('folder'),
            name: Type.String(),
            path: Type.String({ description: 'The path of the folder, with a trailing "/".' }),
          },
          { title: 'FolderEntry' },
        ),
        Type.Object(
          {
            type: Type.Literal('file'),
            name: Type.String(),
            path: Type.String(),
            size: Type.Integer({ description: 'The size in bytes.' }),
            modified: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
              description: 'The modification time, or null if the store does not know it.',
            }),
            contentType: Type.String(),
            etag: Type.String({ description: 'Quoted, as in the ETag header.' }),
            publicUrl: Type.Optional(
              Type.String({ description: 'The public URL of the file. Present only if the bucket is public.' }),
            ),
          },
          { title: 'FileEntry' },
        ),
      ]),
      { description: 'The files and folders, sorted by the UTF-8 bytes of `path`.' },
    ),
    cursor: nextCursor,
    rights: Type.Optional(
      Type.Array(Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('manage')]), {
        description: 'The permissions of the user for this folder. Present only with an access file.',
      }),
    ),
    public: Type.Optional(
      Type.Literal(true, {
        description:
          'Everyone can read this folder, also without signing in. Present only for users who can read and manage it.',
      }),
    ),
  },
  { title: 'Listing' },
);
export type Listing = Static<typeof Listing>;

/** Maximum number of names in a listing of named entries. */
const MAX_NAMES = 100;

export const ListingQuery = Type.Object({
  prefix: Type.Optional(Type.String({ description: 'The folder, if it is not in the path.' })),
  limit: pageLimit('Maximum number of entries.'),
  cursor,
  name: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: MAX_NAMES })], {
      description: `Only the entries with these names, in this order and without pages; at most ${MAX_NAMES}. The name of a folder ends with "/". JSON only.`,
    }),
  ),
  preview: Type.Optional(
    Type.String({
      description: 'The name of the file that the web UI previews. Has no effect on the listing.',
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
  readonly response: Listing | Failure;
  /** Whether every change is refused. */
  readonly readOnly: boolean;
  /** Maximum size of an upload in bytes; null if only the store has a limit. */
  readonly maxUploadSize: number | null;
  /** Bytes above which a file is uploaded in parts of this size; null if that is not possible. */
  readonly uploadPartBytes: number | null;
  /** The trash; null if deletes are permanent. `days` is null if nothing removes its items, such as in a branch. */
  readonly trash: { readonly days: number | null } | null;
  /** Whether the earlier contents of replaced files are kept as versions. */
  readonly keepsVersions: boolean;
  /** The kinds of files that have thumbnails in addition to images. */
  readonly stills: readonly ('video' | 'pdf' | 'heic')[];
  /** Whether users can share files and folders by links. */
  readonly links: boolean;
  /**
   * WebDAV: whether the service serves it, and the root of the service as `PUBLIC_URL` says, with a trailing `/`. Null if there
   * are no locks.
   */
  readonly dav: { readonly isServed: boolean; readonly root: string | null } | null;
  /** The user, and the available sign-in methods; null if access control has no users. */
  readonly access: { readonly name: string | null; readonly signIn: SignIn } | null;
  /** The cursor of the change feed from before the listing was read; undefined if the change log is unavailable. */
  readonly cursor?: string | undefined;
  /**
   * The link through which a visitor opened the page; undefined for users of the service. Null while its properties are
   * hidden: `response` has the code `link-password-required`, `link-not-found`, or another failure. For a link without
   * read permission, the root is an empty listing with the status 200.
   */
  readonly link?: VisitorLink | null | undefined;
}

/** The available sign-in methods: password, identity provider. */
export const SignIn = Type.Object(
  {
    password: Type.Boolean({ description: 'Whether users can sign in with a password.' }),
    provider: Type.Boolean({ description: 'Whether users can sign in with an identity provider.' }),
  },
  { title: 'SignInMethods' },
);
export type SignIn = Static<typeof SignIn>;

const version = Type.Optional(
  Type.String({ description: 'The `id` of a version of the file. Default: the current content.' }),
);

/** The query of a request for the file or one of its versions. */
export const VersionQuery = Type.Object({ version });

export const PreviewQuery = Type.Object({
  version,
  width: Type.String({
    description: 'The maximum width in pixels: 320, 640, 1024, 1600 or 2560. The maximum height is twice as much.',
  }),
});

export const FileQuery = Type.Object({
  version,
  download: Type.Optional(Type.String({ description: '`1` sends the file as an attachment, which browsers save.' })),
});

export const PutQuery = Type.Object({
  sender: Type.Optional(
    Type.String({
      description:
        'The name of the sender, for share links that ask for it: 1 to 100 characters. The file is stored in a folder of this name.',
    }),
  ),
});

export const BeginUploadQuery = Type.Object({
  path: Type.Optional(
    Type.String({ description: 'The path of the file, with `Upload-Complete`. By tus, the metadata has the path.' }),
  ),
});

export const DeleteQuery = Type.Object({
  permanent: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Deletes at once, and with all versions, instead of moving to the trash.',
    }),
  ),
});

/** The folder in the query of requests for several items of the trash. */
const trashFolder = Type.Optional(
  Type.String({ description: 'Only items from this folder, at any depth. Default: the root.' }),
);

export const TrashQuery = Type.Object({
  folder: trashFolder,
  limit: pageLimit('Maximum number of items.'),
  cursor,
});

/** A misspelt or empty folder must not empty the whole trash. */
export const EmptyTrashQuery = Type.Object(
  {
    folder: Type.Optional(
      Type.String({ minLength: 1, description: 'Only items from this folder, at any depth. Default: all items.' }),
    ),
  },
  { additionalProperties: false },
);

export const TrashList = Type.Object(
  {
    success,
    entries: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          type: Type.Union([Type.Literal('file'), Type.Literal('folder')]),
          path: Type.String({ description: 'The path from which it was deleted. For a folder, with a trailing "/".' }),
          size: Type.Optional(Type.Integer({ description: 'The size in bytes. Absent while it is unknown.' })),
          deletedAt: Type.String({ format: 'date-time' }),
          user: Type.Optional(Type.String({ description: 'The user who deleted it. Absent for an anonymous user.' })),
        },
        { title: 'TrashEntry' },
      ),
      { description: 'The newest first.' },
    ),
    cursor: nextCursor,
  },
  { title: 'TrashList' },
);
export type TrashList = Static<typeof TrashList>;

export const TrashId = Type.Object({ id: Type.String({ description: 'The `id` of an item in the trash.' }) });

export const Restore = Type.Object(
  {
    to: Type.Optional(Type.String({ description: 'The new path. Default: the path from which it was deleted.' })),
    onConflict: Type.Optional(
      Type.Union([Type.Literal('fail'), Type.Literal('rename')], {
        default: 'fail',
        description: 'For a name that is taken: `fail` responds with 409, `rename` adds a number, as in `cat (2).jpg`.',
      }),
    ),
  },
  { title: 'RestoreRequest' },
);

export const Restored = changedWith('Restored', 'path', 'The path of the restored file or folder.');

export const Emptied = Type.Object(
  {
    success,
    message: Type.String(),
    removed: Type.Integer({ description: 'The number of removed items.' }),
  },
  { title: 'Emptied' },
);

export const VersionsQuery = Type.Object({
  limit: pageLimit('Maximum number of versions.'),
  cursor,
});

export const VersionList = Type.Object(
  {
    success,
    versions: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          size: Type.Integer({ description: 'The size in bytes.' }),
          modified: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
            description: 'The modification time of the content, or null if the store does not know it.',
          }),
          replacedAt: Type.String({ format: 'date-time', description: 'When the content was replaced.' }),
          replacedBy: Type.Optional(Type.String({ description: 'The user who replaced it.' })),
          user: Type.Optional(Type.String({ description: 'The user who wrote it, if the store knows that.' })),
          message: Type.Optional(
            Type.String({ description: 'A description of the change, such as a commit message.' }),
          ),
        },
        { title: 'FileVersion' },
      ),
      { description: 'The most recently replaced first, without the current content.' },
    ),
    cursor: nextCursor,
  },
  { title: 'VersionList' },
);
export type VersionList = Static<typeof VersionList>;

export const RestoreVersion = Type.Object(
  { version: Type.String({ description: 'The `id` of the version.' }) },
  { title: 'RestoreVersionRequest' },
);

export const VersionRestored = changedWith('VersionRestored', 'path', 'The path of the file.');

const overwrite = Type.Optional(
  Type.Boolean({ default: false, description: 'Replaces an existing destination. Otherwise, the response is 409.' }),
);

export const Rename = Type.Object(
  {
    newName: Type.String({ description: 'The new name, without "/".' }),
    overwrite,
  },
  { title: 'RenameRequest' },
);

export const Transfer = Type.Object(
  {
    source: Type.String({ description: 'The path of the file or folder.' }),
    destination: Type.String({ description: 'The new path.' }),
    is_folder: Type.Boolean({ description: 'Whether the source is a folder, with everything in it, or a file.' }),
    overwrite,
  },
  { title: 'TransferRequest' },
);

export const CreateFolder = Type.Object(
  {
    path: Type.String({ description: 'The path of the new folder. Missing parents are created.' }),
  },
  { title: 'CreateFolderRequest' },
);

export const PendingUpload = Type.Object(
  {
    id: Type.String(),
    path: Type.String({ description: 'The file that the upload becomes.' }),
    offset: Type.Integer({ description: 'Bytes that have arrived.' }),
    size: Type.Optional(Type.Integer({ description: 'Bytes of the whole content, if the client has sent them.' })),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'PendingUpload' },
);

export const LocksQuery = Type.Object({
  folder: Type.Optional(Type.String({ description: 'The folder. Default: the root.' })),
});

export const LockId = Type.Object({ id: Type.String({ description: 'The `id` of the lock.' }) });

const LockDescription = Type.Object(
  {
    id: Type.String(),
    path: Type.String({ description: 'The locked file or folder. Folders end with "/"; the root is empty.' }),
    scope: Type.Union([Type.Literal('exclusive'), Type.Literal('shared')]),
    depth: Type.Union([Type.Literal('0'), Type.Literal('infinity')], {
      description: '`infinity`: everything in the folder is locked too.',
    }),
    user: Type.Optional(Type.String({ description: 'The user who holds the lock. Absent for an anonymous user.' })),
    owner: Type.Optional(Type.String({ description: 'What the client said about its user.' })),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'Lock' },
);
export type LockDescription = Static<typeof LockDescription>;

export const LockList = Type.Object({ success, locks: Type.Array(LockDescription) }, { title: 'LockList' });
export type LockList = Static<typeof LockList>;

export const UploadId = Type.Object({ id: Type.String({ description: 'The ID of the upload.' }) });

/** Maximum parts of an upload, in every store. */
const MAX_PART_NUMBER = 10_000;

const partNumber = Type.Integer({ minimum: 1, maximum: MAX_PART_NUMBER, description: 'From 1.' });

export const PresignParts = Type.Object(
  {
    parts: Type.Array(
      Type.Object(
        {
          number: partNumber,
          md5: Type.String({
            pattern: '^[A-Za-z0-9+/]{22}==$',
            description: 'The MD5 of the part, in Base64.',
          }),
        },
        { additionalProperties: false },
      ),
      { maxItems: 100, description: 'The parts to send. An empty list only asks for `partSize`.' },
    ),
  },
  { title: 'PresignParts' },
);

export const PresignedParts = Type.Object(
  {
    success,
    partSize: Type.Integer({ description: 'Bytes of every part except the last.' }),
    parts: Type.Array(
      Type.Object({
        number: partNumber,
        offset: Type.Integer({ description: 'The position of its first byte in the content.' }),
        size: Type.Integer({ description: 'Bytes of the part.' }),
        url: Type.String({ description: 'Receives the part by `PUT`, for at most ten minutes.' }),
        headers: Type.Record(Type.String(), Type.String(), { description: 'The headers that the request must have.' }),
      }),
    ),
  },
  { title: 'PresignedParts' },
);

export const UploadList = Type.Object({ success, uploads: Type.Array(PendingUpload) }, { title: 'UploadList' });

export const Upload = Type.Object(
  {
    file: Type.String({
      format: 'binary',
      description: "The file; its name is the last segment of the part's file name.",
    }),
    prefix: Type.Optional(
      Type.String({ description: 'The destination folder. Default: the root. Before or after the file.' }),
    ),
    modified: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'The modification time to store, if the store keeps times. Before or after the file.',
      }),
    ),
    sender: Type.Optional(
      Type.String({
        description:
          'The name of the sender, for share links that ask for it: 1 to 100 characters. The file is stored in a folder of this name. Before or after the file.',
      }),
    ),
  },
  { title: 'UploadForm' },
);

/** Maximum number of paths of one archive. */
const MAX_ZIP_PATHS = 10_000;

export const ZipRequest = Type.Object(
  {
    paths: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_ZIP_PATHS,
      description: `Paths of files and folders; those of folders end with "/". At most ${MAX_ZIP_PATHS}.`,
    }),
  },
  { title: 'ZipRequest' },
);

/** Maximum paths in a request for the details of images. */
const MAX_MEDIA_PATHS = 500;

export const MediaRequest = Type.Object(
  {
    paths: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_MEDIA_PATHS,
      description: `Paths of files. At most ${MAX_MEDIA_PATHS}.`,
    }),
  },
  { title: 'MediaRequest' },
);

const imageSize = {
  width: Type.Integer({ description: 'Pixels of the upright image.' }),
  height: Type.Integer({ description: 'Pixels of the upright image.' }),
  takenAt: Type.Optional(
    Type.String({
      description:
        'The local date and time at which the photo was taken, with the offset from UTC only if the camera has recorded it: `2026-11-01T20:41:00+01:00`.',
    }),
  ),
};

export const MediaList = Type.Object(
  {
    success,
    items: Type.Array(Type.Object({ path: Type.String(), etag: Type.String(), ...imageSize })),
  },
  { title: 'MediaList' },
);
export type MediaList = Static<typeof MediaList>;

export const MediaResponse = Type.Object(
  {
    success,
    media: Type.Object({
      ...imageSize,
      camera: Type.Optional(Type.String({ description: 'The maker and the model of the camera.' })),
      lens: Type.Optional(Type.String()),
      focalLength: Type.Optional(Type.Number({ description: 'Millimeters.' })),
      focalLength35mm: Type.Optional(Type.Number({ description: 'Millimeters, for a sensor of 36 × 24 mm.' })),
      aperture: Type.Optional(Type.Number({ description: 'The f-number.' })),
      exposureTime: Type.Optional(Type.Number({ description: 'Seconds.' })),
      exposureBias: Type.Optional(Type.Number({ description: 'Stops.' })),
      iso: Type.Optional(Type.Number()),
      flash: Type.Optional(Type.Boolean({ description: 'Whether the flash fired.' })),
      location: Type.Optional(
        Type.Object({
          latitude: Type.Number({ description: 'Degrees, positive in the north.' }),
          longitude: Type.Number({ description: 'Degrees, positive in the east.' }),
          altitude: Type.Optional(Type.Number({ description: 'Meters above sea level.' })),
        }),
      ),
    }),
  },
  { title: 'MediaResponse' },
);
export type MediaResponse = Static<typeof MediaResponse>;

/** The path parameter of routes for a file or folder. It can contain "/". */
export const PathParameter = Type.Object({ '*': Type.String({ description: 'The path. It can contain "/".' }) });
