import type { ConditionHeader } from './condition-headers.ts';
import type { ErrorCode } from './error-codes.ts';

/** What the OpenAPI document says about an operation, in addition to its route. */
export interface OperationDescription {
  readonly operationId: string;
  /** The errors that are specific to the operation or likely. Any operation can fail with others. */
  readonly errors: readonly ErrorCode[];
  /** The headers for conditions and ranges that the operation evaluates. */
  readonly conditions?: readonly ConditionHeader[];
  /** An example of the request body. */
  readonly request?: object;
  /** An example of the response with status 200. */
  readonly response?: object;
}

/** Errors of access control. */
const ACCESS = ['sign-in-required', 'invalid-token', 'token-expired', 'permission-denied'] as const;

/** Errors that every operation on the store can have. */
const STORE = ['rate-limited', 'internal-error', 'store-unreachable', 'store-busy', 'overloaded'] as const;

const READ = ['invalid-path', ...ACCESS, 'not-found', ...STORE] as const;
const WRITE = ['invalid-path', 'path-too-long', ...ACCESS, 'read-only', 'locked', ...STORE, 'store-full'] as const;
const UPLOAD = [
  ...WRITE,
  'incomplete-body',
  'wrong-kind',
  'name-taken',
  'file-changed',
  'upload-too-large',
  'too-large-for-store',
  'condition-failed',
] as const;
const UPLOADS = ['rate-limited', 'internal-error', 'database-unavailable'] as const;
const UPLOADS_OF_USER = [
  ...ACCESS,
  ...UPLOADS,
  'unsupported-tus-version',
  'upload-not-found',
  'upload-in-use',
] as const;
const PARTS = ['unsupported-tus-version', 'checksum-mismatch', 'upload-in-use'] as const;
const CONTENT = ['condition-failed', 'range-unsatisfiable', 'url-expired', 'embedding-refused'] as const;
const ARCHIVE = [...READ, ...CONTENT.slice(0, 2), 'embedding-refused', 'zip-too-large'] as const;
const RENAME = [
  'json-required',
  'invalid-json',
  'invalid-parameter',
  'same-path',
  'not-found',
  'already-exists',
  'condition-failed',
] as const;
const TRANSFER = [
  ...RENAME,
  'folder-into-itself',
  'destination-contains-source',
  'wrong-kind',
  'other-file-system',
  'contains-mount',
] as const;

/** Errors of permanent deletes that can remove a part of a folder. */
const IN_PART = ['denied', 'contains-mount', 'file-busy', 'disk-error'] as const;

/** The conditions of requests for content that has an ETag, but no modification time. */
const BY_ETAG = ['If-Match', 'If-None-Match'] as const;

/** The conditions of changes of files. */
const FOR_CHANGE = [...BY_ETAG, 'If-Unmodified-Since'] as const;

const FOR_HEAD = [...FOR_CHANGE, 'If-Modified-Since'] as const;
const RANGES = ['Range', 'If-Range'] as const;

/** The ID of a change. */
const CHANGE = 'Wm1aQ0pXb0J1bGxpbmdzMQ';

const success = (message: string, more: object = {}) => ({ success: true, message, ...more });
const changed = (message: string, more: object = {}) => success(message, { ...more, change: CHANGE });

const deleteFile = {
  conditions: FOR_CHANGE,
  errors: [...WRITE, 'invalid-parameter', 'not-found', 'condition-failed', 'other-file-system'],
  response: changed('File deleted successfully'),
} as const;
const deleteFolder = {
  conditions: BY_ETAG,
  errors: [
    ...WRITE,
    'invalid-parameter',
    'root-not-allowed',
    'not-found',
    'condition-failed',
    ...IN_PART,
    'other-file-system',
  ],
  response: changed('Folder deleted successfully'),
} as const;
const list = {
  errors: [...READ, 'invalid-parameter', 'invalid-cursor'],
  response: {
    success: true,
    prefix: 'photos/',
    entries: [
      { type: 'folder', name: '2026', path: 'photos/2026/' },
      {
        type: 'file',
        name: 'cat.jpg',
        path: 'photos/cat.jpg',
        size: 48213,
        modified: '2026-11-20T09:30:00.000Z',
        contentType: 'image/jpeg',
        etag: '"1a0rw-g-dn0b18zm6jcb"',
      },
    ],
  },
} as const;
const transfer = { source: 'notes/hello.txt', destination: 'archive/hello.txt', is_folder: false };
const job = {
  id: '6f1c2f0a-4a0d-4a2c-9b0e-0d6f1f3f6a11',
  kind: 'copy-folder',
  status: 'running',
  user: 'ann',
  input: { source: 'photos/', destination: 'archive/', overwrite: false },
  attempts: 1,
  createdAt: '2026-11-25T09:30:00.000Z',
  startedAt: '2026-11-25T09:30:00.012Z',
  progress: { done: 120, total: 2000, bytes: 52428800 },
} as const;
const trashEntry = {
  id: '01xukb5bwzzz-4f2k9q1x',
  type: 'file',
  path: 'notes/hello.txt',
  size: 12,
  deletedAt: '2026-11-25T09:30:00.000Z',
  user: 'ann',
} as const;
const lock = {
  id: '0b2f7d0e-52a5-4d3c-9a10-8c7f0b1de0a4',
  path: 'notes/hello.txt',
  scope: 'exclusive',
  depth: '0',
  user: 'ann',
  owner: 'Ann on her laptop',
  createdAt: '2026-11-25T09:30:00.000Z',
  expiresAt: '2026-11-25T09:40:00.000Z',
} as const;
const fileVersion = {
  id: '01xukb5bwzzy-8s0c2m5d',
  size: 12,
  modified: '2026-11-20T09:30:00.000Z',
  replacedAt: '2026-11-25T09:30:00.000Z',
  replacedBy: 'ann',
} as const;
const JOBS = ['invalid-token', 'token-expired', 'rate-limited', 'internal-error', 'database-unavailable'] as const;
const webhook = {
  id: '0b7b3c1e-5f43-4c1f-8a51-0d9a7f0d9f01',
  url: 'https://hooks.example.org/holdall',
  folder: 'photos/',
  types: ['file.created', 'file.deleted'],
  description: 'Photo archive',
  enabled: true,
  owner: 'ann',
  createdAt: '2026-11-25T09:30:00.000Z',
} as const;
const webhookDelivery = {
  id: 'msg_5f1d2c3b4a59687786958493a2b1c0d9',
  type: 'file.created',
  status: 'delivered',
  attempts: 1,
  createdAt: '2026-11-25T09:30:00.000Z',
  lastAttempt: { time: '2026-11-25T09:30:00.052Z', durationMs: 87, responseStatus: 204, response: '' },
  message: {
    type: 'file.created',
    timestamp: '2026-11-25T09:30:00.000Z',
    data: {
      id: 'Wm1aQ0pXb0J1bGxpbmdzMQ',
      time: '2026-11-25T09:30:00.000Z',
      type: 'file.created',
      path: 'photos/cat.jpg',
      size: 48213,
      etag: '"1a0rw-g-dn0b18zm6jcb"',
      user: 'ann',
    },
  },
} as const;
const testMessage = { type: 'webhook.test', timestamp: '2026-11-25T09:30:00.000Z', data: { webhook: webhook.id } };
const WEBHOOKS = [...ACCESS, 'rate-limited', 'internal-error', 'database-unavailable'] as const;
const ONE_WEBHOOK = [...WEBHOOKS, 'not-found'] as const;
const WEBHOOK_BODY = ['json-required', 'invalid-json', 'invalid-parameter', 'invalid-request', 'invalid-path'] as const;
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';
const link = {
  id: '3f2a9b54-6c1e-4d0a-9f7b-1e2d3c4b5a69',
  path: 'photos/',
  type: 'folder',
  permissions: ['read'],
  label: 'Holidays',
  creator: 'ann',
  createdAt: '2026-11-25T09:30:00.000Z',
  expiresAt: '2026-12-31T18:00:00.000Z',
  hasPassword: true,
  maxDownloads: 100,
  downloads: 3,
  uploads: 0,
  askSender: false,
  lastUsedAt: '2026-11-25T10:12:00.000Z',
  active: true,
} as const;
const token = 'Qm5vTG9uZ2VyVmFsaWRfVG9rZW5fMTIz';
const LINKS = [...ACCESS, 'rate-limited', 'internal-error', 'database-unavailable'] as const;
const VISITS = ['link-not-found', 'rate-limited', 'internal-error', 'database-unavailable'] as const;
const LINK_BODY = ['json-required', 'invalid-json', 'invalid-parameter', 'invalid-request', 'overloaded'] as const;
const appToken = {
  id: '0b8f6f3e-52a1-4d77-8f0e-9a3c5b7d1e24',
  name: 'Phone',
  folder: 'photos/',
  permissions: ['read', 'write'],
  createdAt: '2026-11-25T09:30:00.000Z',
  lastUsedAt: '2026-11-27T07:12:00.000Z',
  expiresAt: '2027-11-25T09:30:00.000Z',
};
const signOut = { errors: ['sessions-unavailable'], response: success('Signed out.') } as const;

/** The operations of the HTTP API, by method and path in the OpenAPI document. */
export const OPERATIONS: Readonly<Record<string, OperationDescription>> = {
  'POST /upload': {
    operationId: 'uploadFile',
    conditions: FOR_CHANGE,
    errors: [...UPLOAD, 'invalid-form', 'missing-file', 'form-too-large'],
    response: changed('File uploaded successfully', { path: 'notes/hello.txt' }),
  },
  'PUT /file/{path}': {
    operationId: 'putFile',
    conditions: FOR_CHANGE,
    errors: [...UPLOAD, 'invalid-header', 'digest-mismatch', 'unsupported-encoding'],
    response: changed('File uploaded successfully', { path: 'notes/hello.txt' }),
  },
  'DELETE /file/{path}': { operationId: 'deleteFileAtPath', ...deleteFile },
  'GET /-/uploads': {
    operationId: 'listUploads',
    errors: [...ACCESS.slice(0, 3), ...UPLOADS],
    response: {
      success: true,
      uploads: [
        {
          id: '6f1c2f0a-4a0d-4a2c-9b0e-0d6f1f3f6a11',
          path: 'videos/birthday.mp4',
          offset: 67108864,
          size: 2147483648,
          createdAt: '2026-11-25T09:30:00.000Z',
          expiresAt: '2026-12-02T09:30:00.000Z',
        },
      ],
    },
  },
  'POST /-/uploads': {
    operationId: 'beginUpload',
    conditions: FOR_CHANGE,
    errors: [...UPLOAD, ...UPLOADS, 'invalid-header', 'invalid-parameter', 'invalid-request', ...PARTS],
  },
  'GET /-/uploads/{id}': { operationId: 'readUploadOffset', errors: UPLOADS_OF_USER },
  'HEAD /-/uploads/{id}': { operationId: 'getUploadOffset', errors: UPLOADS_OF_USER },
  'PATCH /-/uploads/{id}': {
    operationId: 'continueUpload',
    errors: [
      ...UPLOAD,
      ...UPLOADS_OF_USER,
      'invalid-header',
      'upload-offset-mismatch',
      'offset-type-required',
      ...PARTS,
    ],
  },
  'POST /-/uploads/{id}/parts': {
    operationId: 'presignParts',
    errors: [
      ...LINK_BODY,
      ...ACCESS.slice(0, 3),
      ...UPLOADS,
      'read-only',
      'upload-not-found',
      'upload-offset-mismatch',
      'upload-too-large',
      'unsupported',
      'upload-in-use',
      'store-unreachable',
      'store-busy',
    ],
    request: { parts: [{ number: 2, md5: '1B2M2Y8AsgTpgAmY7PhCfg==' }] },
    response: {
      success: true,
      partSize: 8388608,
      parts: [
        {
          number: 2,
          offset: 8388608,
          size: 8388608,
          url: 'https://s3.eu-central-1.amazonaws.com/my-files/videos/birthday.mp4?X-Amz-Algorithm=…',
          headers: { 'content-md5': '1B2M2Y8AsgTpgAmY7PhCfg==' },
        },
      ],
    },
  },
  'DELETE /-/uploads/{id}': { operationId: 'cancelUpload', errors: UPLOADS_OF_USER },
  'GET /': { operationId: 'listRoot', ...list },
  'GET /{path}': { operationId: 'listFolder', ...list },
  'GET /file/{path}': {
    operationId: 'fetchFile',
    conditions: [...FOR_HEAD, ...RANGES],
    errors: [...READ, ...CONTENT.slice(0, 2), 'embedding-refused', 'no-download-url'],
  },
  'HEAD /file/{path}': {
    operationId: 'headFile',
    conditions: FOR_HEAD,
    errors: [...READ, 'condition-failed', 'no-download-url'],
  },
  'GET /thumb/{path}': {
    operationId: 'getThumbnail',
    conditions: BY_ETAG,
    errors: [
      ...READ,
      'unsupported-image',
      'damaged-image',
      'condition-failed',
      'image-too-large',
      'image-too-complex',
      'thumbnail-failed',
    ],
  },
  'GET /-/preview/{path}': {
    operationId: 'getPreview',
    conditions: BY_ETAG,
    errors: [
      ...READ,
      'invalid-parameter',
      'unsupported-image',
      'damaged-image',
      'condition-failed',
      'image-too-large',
      'image-too-complex',
      'thumbnail-failed',
    ],
  },
  'GET /-/media/{path}': {
    operationId: 'getMedia',
    conditions: BY_ETAG,
    errors: [...READ, 'unsupported-image', 'condition-failed', 'file-busy'],
    response: {
      success: true,
      media: {
        width: 4000,
        height: 6000,
        takenAt: '2026-11-01T20:41:00+01:00',
        camera: 'Canon EOS R6',
        lens: 'RF50mm F1.8 STM',
        focalLength: 50,
        aperture: 2.8,
        exposureTime: 0.004,
        iso: 400,
        location: { latitude: 52.51, longitude: 13.375 },
      },
    },
  },
  'POST /-/media': {
    operationId: 'listMedia',
    errors: [
      'invalid-path',
      ...ACCESS,
      ...STORE,
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'body-too-large',
    ],
    request: { paths: ['photos/cat.jpg', 'notes/hello.txt'] },
    response: {
      success: true,
      items: [
        {
          path: 'photos/cat.jpg',
          etag: '"1a0rw-g-dn0b18zm6jcb"',
          width: 4000,
          height: 6000,
          takenAt: '2026-11-01T20:41:00',
        },
      ],
    },
  },
  'GET /-/zip/{path}': { operationId: 'downloadFolder', conditions: [...BY_ETAG, ...RANGES], errors: ARCHIVE },
  'HEAD /-/zip/{path}': { operationId: 'headFolderArchive', conditions: BY_ETAG, errors: ARCHIVE },
  'POST /-/zip': {
    operationId: 'downloadSelection',
    conditions: [...BY_ETAG, ...RANGES],
    errors: [...ARCHIVE, 'json-required', 'invalid-json', 'invalid-parameter', 'body-too-large'],
    request: { paths: ['photos/', 'notes/hello.txt'] },
  },
  'DELETE /delete/{path}': { operationId: 'deleteFile', ...deleteFile },
  'POST /delete/{path}': { operationId: 'deleteFileByPost', ...deleteFile },
  'POST /rename/{path}': {
    operationId: 'renameFile',
    conditions: FOR_CHANGE,
    errors: [...WRITE, ...RENAME, 'wrong-kind'],
    request: { newName: 'welcome.txt' },
    response: changed('File renamed successfully', { newKey: 'notes/welcome.txt' }),
  },
  'POST /create_folder': {
    operationId: 'createFolder',
    conditions: BY_ETAG,
    errors: [
      ...WRITE,
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'root-not-allowed',
      'wrong-kind',
      'condition-failed',
    ],
    request: { path: 'archive/2026' },
    response: changed('Folder created successfully'),
  },
  'DELETE /delete_folder/{path}': { operationId: 'deleteFolder', ...deleteFolder },
  'POST /delete_folder/{path}': { operationId: 'deleteFolderByPost', ...deleteFolder },
  'POST /rename_folder/{path}': {
    operationId: 'renameFolder',
    conditions: BY_ETAG,
    errors: [...WRITE, ...RENAME, 'root-not-allowed', 'wrong-kind', 'other-file-system', 'contains-mount'],
    request: { newName: 'letters' },
    response: changed('Folder renamed successfully', { newPrefix: 'letters/' }),
  },
  'POST /copy': {
    operationId: 'copyItem',
    conditions: FOR_CHANGE,
    errors: [...WRITE, ...TRANSFER, 'root-not-allowed', 'too-many-properties'],
    request: transfer,
    response: changed('Item copied successfully'),
  },
  'POST /move': {
    operationId: 'moveItem',
    conditions: FOR_CHANGE,
    errors: [...WRITE, ...TRANSFER, 'root-not-allowed'],
    request: transfer,
    response: changed('Item moved successfully'),
  },
  'GET /-/signed/{path}': {
    operationId: 'fetchSignedFile',
    conditions: [...FOR_HEAD, ...RANGES],
    errors: ['invalid-path', 'invalid-signature', 'not-found', ...CONTENT, ...STORE],
  },
  'HEAD /-/signed/{path}': {
    operationId: 'headSignedFile',
    conditions: FOR_HEAD,
    errors: ['invalid-path', 'invalid-signature', 'url-expired', 'not-found', 'condition-failed', ...STORE],
  },
  'GET /-/changes': {
    operationId: 'listChanges',
    errors: [
      'invalid-path',
      'invalid-parameter',
      'invalid-cursor',
      'cursor-expired',
      ...ACCESS,
      'rate-limited',
      'internal-error',
      'database-unavailable',
      'overloaded',
    ],
    response: {
      success: true,
      changes: [
        {
          id: CHANGE,
          time: '2026-11-25T09:30:00.000Z',
          type: 'file.created',
          path: 'notes/hello.txt',
          size: 5,
          etag: '"1a0rw-g-dn0b18zm6jcb"',
          user: 'ann',
        },
      ],
      cursor: CHANGE,
      hasMore: false,
    },
  },
  'POST /-/undo': {
    operationId: 'undoChange',
    errors: [
      ...WRITE.filter((code) => code !== 'invalid-path'),
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'change-not-found',
      'not-undoable',
      'already-undone',
      'other-file-system',
      'contains-mount',
      'database-unavailable',
    ],
    request: { change: CHANGE },
    response: success('Change undone successfully', {
      changes: [{ type: 'file.moved', path: 'notes/hello.txt', from: 'archive/hello.txt', user: 'ann' }],
      change: 'rT5bq0YxQm6mZlq1u8o2Ww',
    }),
  },
  'GET /-/trash': {
    operationId: 'listTrash',
    errors: [...READ.filter((code) => code !== 'not-found'), 'invalid-parameter', 'invalid-cursor', 'unsupported'],
    response: { success: true, entries: [trashEntry] },
  },
  'POST /-/trash/{id}/restore': {
    operationId: 'restoreTrashedItem',
    errors: [
      ...WRITE,
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'invalid-request',
      'root-not-allowed',
      'not-found',
      'already-exists',
      'wrong-kind',
      'other-file-system',
      'unsupported',
    ],
    request: { onConflict: 'rename' },
    response: changed('Item restored successfully', { path: 'notes/hello (2).txt' }),
  },
  'DELETE /-/trash/{id}': {
    operationId: 'deleteTrashedItem',
    errors: ['invalid-request', ...ACCESS, 'read-only', 'not-found', ...IN_PART, ...STORE, 'unsupported'],
    response: success('Item deleted permanently'),
  },
  'DELETE /-/trash': {
    operationId: 'emptyTrash',
    errors: ['invalid-path', ...ACCESS, 'read-only', ...IN_PART, ...STORE, 'unsupported'],
    response: success('Trash emptied successfully', { removed: 12 }),
  },
  'GET /-/versions/{path}': {
    operationId: 'listVersions',
    errors: [...READ.filter((code) => code !== 'not-found'), 'invalid-parameter', 'invalid-cursor', 'unsupported'],
    response: { success: true, versions: [fileVersion] },
  },
  'DELETE /-/versions/{path}': {
    operationId: 'deleteVersions',
    conditions: FOR_CHANGE,
    errors: ['invalid-path', ...ACCESS, 'read-only', 'locked', 'condition-failed', ...STORE, 'unsupported'],
    response: success('Versions deleted successfully'),
  },
  'POST /-/versions/{path}': {
    operationId: 'restoreVersion',
    conditions: FOR_CHANGE,
    errors: [
      ...WRITE,
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'invalid-request',
      'not-found',
      'wrong-kind',
      'name-taken',
      'file-changed',
      'condition-failed',
      'unsupported',
    ],
    request: { version: fileVersion.id },
    response: changed('Version restored successfully', { path: 'notes/hello.txt' }),
  },
  'GET /-/locks': {
    operationId: 'listLocks',
    errors: [...ACCESS, 'rate-limited', 'internal-error', 'database-unavailable', 'invalid-path'],
    response: { success: true, locks: [lock] },
  },
  'DELETE /-/locks/{id}': {
    operationId: 'releaseLock',
    errors: [...ACCESS, 'rate-limited', 'internal-error', 'database-unavailable', 'not-found'],
    response: success('Lock released successfully'),
  },
  'GET /-/jobs': {
    operationId: 'listJobs',
    errors: [...JOBS, 'invalid-parameter', 'invalid-cursor'],
    response: { success: true, jobs: [job] },
  },
  'GET /-/jobs/{id}': { operationId: 'getJob', errors: [...JOBS, 'job-not-found'], response: { success: true, job } },
  'DELETE /-/jobs/{id}': {
    operationId: 'cancelJob',
    errors: [...JOBS, 'job-not-found'],
    response: { success: true, job },
  },
  'GET /-/links': {
    operationId: 'listLinks',
    errors: [...LINKS, 'invalid-parameter', 'invalid-path', 'invalid-cursor'],
    response: { success: true, links: [link] },
  },
  'POST /-/links': {
    operationId: 'createLink',
    errors: ['outlasts-credential', ...LINKS, ...LINK_BODY, 'invalid-path', 'not-found', ...STORE],
    request: { path: link.path, label: link.label, expiresAt: link.expiresAt, password: 'a long password' },
    response: success('Link created successfully', {
      link: { ...link, maxDownloads: undefined, downloads: 0, lastUsedAt: undefined },
      token,
      url: `https://files.example.org/-/s/${token}/`,
    }),
  },
  'GET /-/links/{id}': {
    operationId: 'getLink',
    errors: [...LINKS, 'not-found'],
    response: { success: true, link },
  },
  'PATCH /-/links/{id}': {
    operationId: 'changeLink',
    errors: [...LINKS, ...LINK_BODY, 'outlasts-credential', 'not-found'],
    request: { maxDownloads: null },
    response: { success: true, link: { ...link, maxDownloads: undefined } },
  },
  'DELETE /-/links/{id}': {
    operationId: 'revokeLink',
    errors: [...LINKS, 'not-found'],
    response: success('Link revoked successfully'),
  },
  'GET /-/app-tokens': {
    operationId: 'listAppTokens',
    errors: LINKS,
    response: { success: true, tokens: [appToken] },
  },
  'POST /-/app-tokens': {
    operationId: 'createAppToken',
    errors: [
      ...LINKS,
      ...LINK_BODY.slice(0, 4),
      'invalid-path',
      'outlasts-credential',
      'session-ended',
      'sign-in-disabled',
    ],
    request: {
      name: appToken.name,
      folder: appToken.folder,
      permissions: appToken.permissions,
      expiresAt: appToken.expiresAt,
    },
    response: success('App token created successfully', {
      token: { ...appToken, lastUsedAt: undefined },
      secret: 'holdall_app_VGhpc0lzTm90QVJlYWxUb2tlbi1JdElzQW5FeGFtcGxl',
    }),
  },
  'DELETE /-/app-tokens/{id}': {
    operationId: 'revokeAppToken',
    errors: [...LINKS, 'not-found'],
    response: success('App token revoked successfully'),
  },
  'GET /-/link': {
    operationId: 'getVisitedLink',
    errors: [...VISITS, 'link-password-required'],
    response: {
      success: true,
      link: { type: 'folder', name: 'photos', label: 'Holidays', permissions: ['read'], askSender: false },
    },
  },
  'POST /-/link/session': {
    operationId: 'enterLinkPassword',
    errors: [
      ...VISITS,
      'json-required',
      'invalid-json',
      'invalid-parameter',
      'wrong-link-password',
      'sign-in-throttled',
    ],
    request: { password: 'a long password' },
    response: success('Password accepted.'),
  },
  'GET /-/webhooks': {
    operationId: 'listWebhooks',
    errors: WEBHOOKS,
    response: { success: true, webhooks: [webhook] },
  },
  'POST /-/webhooks': {
    operationId: 'createWebhook',
    errors: [...WEBHOOKS, ...WEBHOOK_BODY, 'outlasts-credential', 'read-only'],
    request: { url: webhook.url, folder: 'photos', types: webhook.types, description: webhook.description },
    response: { success: true, webhook, secret },
  },
  'GET /-/webhooks/{id}': { operationId: 'getWebhook', errors: ONE_WEBHOOK, response: { success: true, webhook } },
  'PATCH /-/webhooks/{id}': {
    operationId: 'changeWebhook',
    errors: [...ONE_WEBHOOK, ...WEBHOOK_BODY, 'outlasts-credential', 'read-only'],
    request: { types: null },
    response: { success: true, webhook: { ...webhook, types: null } },
  },
  'DELETE /-/webhooks/{id}': {
    operationId: 'removeWebhook',
    errors: [...ONE_WEBHOOK, 'read-only'],
    response: success('Webhook removed successfully'),
  },
  'POST /-/webhooks/{id}/rotate-secret': {
    operationId: 'rotateWebhookSecret',
    errors: [...ONE_WEBHOOK, 'read-only'],
    response: success('Secret replaced successfully', { secret }),
  },
  'POST /-/webhooks/{id}/test': {
    operationId: 'testWebhook',
    errors: [...ONE_WEBHOOK, 'read-only'],
    response: { success: true, delivery: { ...webhookDelivery, type: 'webhook.test', message: testMessage } },
  },
  'GET /-/webhooks/{id}/deliveries': {
    operationId: 'listWebhookDeliveries',
    errors: [...ONE_WEBHOOK, 'invalid-parameter', 'invalid-cursor'],
    response: { success: true, deliveries: [webhookDelivery] },
  },
  'POST /-/webhooks/{id}/deliveries/{delivery}/redeliver': {
    operationId: 'redeliverWebhookMessage',
    errors: [...ONE_WEBHOOK, 'invalid-request', 'read-only'],
    response: { success: true, delivery: { ...webhookDelivery, status: 'pending', attempts: 0 } },
  },
  'GET /-/session': {
    operationId: 'getSession',
    errors: ['invalid-token', 'token-expired', 'invalid-credentials', 'sessions-unavailable'],
    response: { success: true, name: 'ann', signIn: { password: true, provider: false } },
  },
  'POST /-/session': {
    operationId: 'signIn',
    errors: ['invalid-parameter', 'wrong-password', 'https-required', 'sign-in-disabled', 'sign-in-throttled'],
    request: { name: 'ann', password: 'correct horse battery staple' },
    response: success('Signed in.', { name: 'ann' }),
  },
  'DELETE /-/session': { operationId: 'signOut', ...signOut },
  'POST /-/session/end': { operationId: 'signOutByPost', ...signOut },
  'GET /-/sign-in': {
    operationId: 'signInWithProvider',
    errors: ['sign-in-disabled', 'identity-provider-unavailable'],
  },
  'GET /-/health/live': { operationId: 'checkLiveness', errors: [], response: success('The service is running.') },
  'GET /-/health/ready': {
    operationId: 'checkReadiness',
    errors: ['rate-limited', 'store-unreachable', 'store-not-writable', 'store-misconfigured'],
    response: success('The service is ready.', { database: 'available' }),
  },
  'GET /-/metrics': { operationId: 'getMetrics', errors: ['invalid-token'] },
};
