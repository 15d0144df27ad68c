import { type ErrorKind, KIND_OF_CODE, type StoreErrorCode } from '../model/error.ts';

/*
 * The error codes of the HTTP API: the single source for types, the OpenAPI document and docs/reference/errors.md. The
 * web UI uses the types, so this file and its imports must work in browsers.
 */

/** The HTTP status of each error kind (RFC 9110, section 15; 416: section 14.4; 412: section 13). */
const STATUS_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  'not-found': 404,
  'already-exists': 409,
  'wrong-kind': 409,
  locked: 409,
  'invalid-path': 400,
  'invalid-request': 400,
  'condition-failed': 412,
  'range-unsatisfiable': 416,
  'too-large': 413,
  denied: 403,
  'other-file-system': 409,
  'not-undoable': 409,
  unsupported: 501,
  unavailable: 503,
};

/** The documentation of an error code. */
export interface ErrorDescription {
  readonly status: number;
  /** What the code means. */
  readonly meaning: string;
  /** What a client or operator does about it. */
  readonly action: string;
}

/** The codes of errors that only HTTP has. They are as stable as those in `KIND_OF_CODE`. */
const HTTP_ERRORS = {
  'malformed-request': {
    status: 400,
    meaning: 'The request is not valid HTTP.',
    action: 'Correct the client, or a proxy in front of the service.',
  },
  'malformed-url': {
    status: 400,
    meaning: 'The URL has a percent escape that is not UTF-8.',
    action: 'Encode each path segment and query value once, as UTF-8.',
  },
  'invalid-host': {
    status: 400,
    meaning: 'The `Host` header is missing, repeated, or contradicts the URL.',
    action: 'Send one `Host` header.',
  },
  'invalid-header': {
    status: 400,
    meaning: 'A request header has an invalid value.',
    action: 'Correct the header as the message says.',
  },
  'json-required': {
    status: 400,
    meaning: 'The `Content-Type` of the body is not `application/json`.',
    action: 'Send `Content-Type: application/json`.',
  },
  'invalid-json': {
    status: 400,
    meaning: 'The body is empty, is not UTF-8 or not valid JSON, or has a forbidden key.',
    action: 'Send a JSON object.',
  },
  'invalid-parameter': {
    status: 400,
    meaning: 'A field of the body or query is missing, has the wrong type, or contradicts another one.',
    action: 'Correct the field that the message names.',
  },
  'invalid-form': {
    status: 400,
    meaning: 'The body is not a valid `multipart/form-data` form of an upload.',
    action: 'Correct the form as the message says.',
  },
  'digest-mismatch': {
    status: 400,
    meaning: 'The content has another digest than `Content-Digest` or `Repr-Digest` says. Nothing was stored.',
    action: 'Send the file again. If that fails, too, correct the digest.',
  },
  'missing-file': {
    status: 400,
    meaning: 'The form has no part `file` with a file name.',
    action: 'Send the file as the part `file`, with a file name.',
  },
  'sign-in-failed': {
    status: 400,
    meaning: 'The identity provider did not complete the sign-in.',
    action: 'Sign in again.',
  },
  'sign-in-expired': {
    status: 400,
    meaning: 'The sign-in was started in another browser, or too long ago.',
    action: 'Sign in again.',
  },
  'sender-required': {
    status: 400,
    meaning: 'The link asks for the name of the sender, and `sender` is missing or not a valid name.',
    action: 'Send `sender`: 1 to 100 characters that can be the name of a folder.',
  },

  'sign-in-required': {
    status: 401,
    meaning: 'The request needs a permission that anonymous clients do not have.',
    action: 'Authenticate by a method in `WWW-Authenticate`.',
  },
  'wrong-password': {
    status: 401,
    meaning: 'The username or the password is wrong.',
    action: 'Correct the credentials.',
  },
  'invalid-credentials': {
    status: 401,
    meaning: 'The `Authorization` header is neither valid `Basic` nor `Bearer`.',
    action: 'Correct the header.',
  },
  'invalid-token': {
    status: 401,
    meaning: 'The token is unknown, revoked, or not valid for this service.',
    action: 'Use a valid token.',
  },
  'token-expired': {
    status: 401,
    meaning: 'The token has expired.',
    action: 'Use a new token.',
  },
  'session-ended': {
    status: 401,
    meaning: 'The session or token expired or was revoked while the request was in progress.',
    action: 'Sign in again.',
  },

  'link-password-required': {
    status: 401,
    meaning: 'The share link needs a password.',
    action: 'Send it to `-/link/session` below the URL of the link.',
  },
  'wrong-link-password': {
    status: 401,
    meaning: 'The password of the share link is wrong.',
    action: 'Correct the password, or ask the user who shared the link.',
  },

  'permission-denied': {
    status: 403,
    meaning: 'The user, or the app token or share link of the request, does not have the permission.',
    action: 'Ask for a grant in the access file.',
  },
  'outlasts-credential': {
    status: 403,
    meaning: 'The request would create something that ends later than the token of the request.',
    action: 'Send an earlier `expiresAt`, or sign in without the token.',
  },
  'https-required': {
    status: 403,
    meaning: 'The request sent a password over an unencrypted connection.',
    action: 'Use HTTPS. Behind a reverse proxy, set `TRUST_PROXY`.',
  },
  'unknown-host': {
    status: 403,
    meaning: 'The `Host` header is not the host of `PUBLIC_URL`.',
    action: 'Use the URL in `PUBLIC_URL`, or let the proxy forward `Host`.',
  },
  'loopback-only': {
    status: 403,
    meaning: 'The service is only available on its own machine, because access is not configured.',
    action: 'Set `ACCESS_FILE` or `ACCESS=open`.',
  },
  'cross-site-request': {
    status: 403,
    meaning: 'A page of another origin made the browser send the request.',
    action: 'Use the web UI of the service. Behind a reverse proxy, set `PUBLIC_URL`.',
  },
  'embedding-refused': {
    status: 403,
    meaning: 'The web UI requested a file as code, for example as a script or style sheet.',
    action: 'Fetch the file with a script, or download it.',
  },
  'invalid-signature': {
    status: 403,
    meaning: 'The signature of the URL is not valid.',
    action: 'Request the file under `/file/` for a new URL.',
  },
  'url-expired': {
    status: 403,
    meaning: 'The signed URL has expired.',
    action: 'Request the file under `/file/` for a new URL.',
  },
  'sign-in-refused': {
    status: 403,
    meaning: 'The identity provider denied the sign-in, or its user cannot use this service.',
    action: 'Use another account, or ask the operator.',
  },

  'link-exhausted': {
    status: 403,
    meaning: 'The share link allows no more downloads, or no more uploads.',
    action: 'Ask the user who shared the link to raise its limit.',
  },

  'unknown-route': {
    status: 404,
    meaning: 'The service has no such route.',
    action: 'Check the URL. See [HTTP API](http-api.md).',
  },
  'job-not-found': {
    status: 404,
    meaning: 'The job does not exist, belongs to another user, or ended more than a day ago.',
    action: 'List your jobs at `/-/jobs`.',
  },
  'link-not-found': {
    status: 404,
    meaning: 'The share link does not exist, was revoked, has expired, or has reached its limits.',
    action: 'Check the URL, or ask for a new link.',
  },
  'wrong-origin': {
    status: 404,
    meaning:
      '`CONTENT_ORIGIN` is set, and serves only file contents. All other requests need the origin of `PUBLIC_URL`.',
    action: 'Use the other origin. Let the proxy forward `Host`.',
  },
  'sign-in-disabled': {
    status: 404,
    meaning: 'This sign-in method is not configured.',
    action: 'Set `ACCESS_FILE` for passwords, or `OIDC_ISSUER` for an identity provider.',
  },

  'upload-not-found': {
    status: 404,
    meaning: 'The resumable upload does not exist, has expired, or belongs to another user.',
    action: 'Begin a new upload.',
  },
  'method-not-allowed': {
    status: 405,
    meaning: 'The path does not support this method.',
    action: 'Use a method in `Allow`.',
  },
  'request-timeout': {
    status: 408,
    meaning: 'The headers or the body arrived too slowly.',
    action: 'Send the request again. Operators: see `HEADERS_TIMEOUT` and `IDLE_TIMEOUT`.',
  },
  'upload-offset-mismatch': {
    status: 409,
    meaning: 'The part of a resumable upload does not begin where the earlier parts end.',
    action: 'Read `Upload-Offset` with `HEAD`, and continue from there.',
  },
  'unsupported-tus-version': {
    status: 412,
    meaning: 'The header `Tus-Resumable` is missing, or has another version than 1.0.0.',
    action: 'Send `Tus-Resumable: 1.0.0`, or `Upload-Complete` for the other protocol.',
  },
  'body-too-large': {
    status: 413,
    meaning: 'The body is larger than 64 KiB, or than 2 MiB for the paths of an archive.',
    action: 'Send a smaller body.',
  },
  'form-too-large': {
    status: 413,
    meaning: 'The form has more than 1 MiB in addition to its file.',
    action: 'Send the file as the part `file`, and only documented fields.',
  },
  'unsupported-encoding': {
    status: 415,
    meaning: 'The body has a `Content-Encoding`, or a `Transfer-Encoding` other than `chunked`.',
    action: 'Send the body without it.',
  },
  'offset-type-required': {
    status: 415,
    meaning:
      'The `Content-Type` of a part of a resumable upload is not `application/offset+octet-stream` (tus) or `application/partial-upload`.',
    action: 'Send the `Content-Type` of the protocol.',
  },
  'expectation-failed': {
    status: 417,
    meaning: 'The `Expect` header is not `100-continue`.',
    action: 'Send the request without it.',
  },
  'rate-limited': {
    status: 429,
    meaning: 'The client sent more requests in a minute than `RATE_LIMIT`.',
    action: 'Try again after `Retry-After`.',
  },
  'sign-in-throttled': {
    status: 429,
    meaning: 'There were too many failed attempts to sign in.',
    action: 'Try again after `Retry-After`.',
  },
  'headers-too-large': {
    status: 431,
    meaning: 'The URL and the headers are larger than 16 KiB, or there are more than 200 headers.',
    action: 'Send fewer or shorter headers and cookies.',
  },
  'checksum-mismatch': {
    status: 460,
    meaning: 'The body of a part of a resumable upload has another checksum than `Upload-Checksum` says.',
    action: 'Send the part again. Its bytes were discarded.',
  },
  'internal-error': {
    status: 500,
    meaning: 'An unexpected error. The message has the request ID.',
    action: 'Search the log of the service for the request ID.',
  },
  'unsupported-method': {
    status: 501,
    meaning: 'The service is not a proxy, so it does not support `CONNECT`.',
    action: 'Send the request to a proxy.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;

/** The documentation of the codes of store errors. */
const STORE_ERRORS: Readonly<
  Record<StoreErrorCode, Omit<ErrorDescription, 'status'> & Partial<Pick<ErrorDescription, 'status'>>>
> = {
  'not-found': {
    meaning: 'The file or folder does not exist, or the path names an entry of the other kind.',
    action: 'Check the path. List its parent folder to see what exists.',
  },
  'change-not-found': {
    meaning: 'The change log has no such change, or the user cannot see all of it.',
    action: 'Take the ID from a response or from `/-/changes`. Changes are kept for `CHANGES_DAYS`.',
  },
  'already-exists': {
    meaning: 'The destination already exists.',
    action: 'Choose another name, or send `"overwrite": true` to replace it.',
  },
  'folder-not-empty': {
    meaning: 'The folder is not empty.',
    action: 'Send the request again: another program added files meanwhile.',
  },
  'wrong-kind': {
    meaning: 'The path needs a folder where a file exists, or a file where a folder exists.',
    action: 'Choose another path, or rename the existing entry. `overwrite` does not resolve this.',
  },
  locked: {
    meaning: 'A lock of a WebDAV client protects the file, its folder, or a file in the folder.',
    action: 'Wait until the lock is released or expires, or unlock the file.',
  },
  'other-file-system': {
    status: 409,
    meaning: 'The item would have to move to another file system, for example into the trash. Nothing was changed.',
    action: 'Delete it permanently with `?permanent=true`, or copy it.',
  },
  'contains-mount': {
    status: 409,
    meaning:
      'Another file system is mounted in the folder, so it is not moved, replaced or deleted. Nothing was changed.',
    action: 'Unmount the file system that the message names, or choose other folders.',
  },
  'not-undoable': {
    meaning: 'The change cannot be undone: something came after it, or its previous content was not kept.',
    action: 'Read the message. If it names a later change, undo that one first.',
  },
  'job-outdated': {
    meaning:
      'A job was not started or continued, because other content can be at its paths now: its process ended, it waited for more than an hour, its database was restored, or a folder to delete has newer content.',
    action: 'Check what it has done, and start it again if necessary.',
  },
  'already-undone': {
    meaning: 'The change is already undone.',
    action: 'Nothing. To redo the change, undo the change that undid it.',
  },
  'invalid-path': {
    meaning: 'The path or name has an empty segment, `.`, `..`, a control character, or is not UTF-8.',
    action: 'Correct the path. See [Paths](http-api.md#paths).',
  },
  'path-too-long': {
    meaning: 'The path, or one of its names, is longer than the store allows.',
    action: 'Shorten the name, or use fewer nested folders.',
  },
  'unsupported-name': {
    meaning: 'The store cannot hold a file or folder of this name, such as `.git` in a repository.',
    action: 'Choose another name.',
  },
  'root-not-allowed': {
    meaning: 'The root folder cannot be created, deleted, renamed, moved or replaced.',
    action: 'Name a folder below the root.',
  },
  'invalid-request': {
    meaning: 'The request contradicts itself or breaks a rule that has no code of its own.',
    action: 'Correct the request as the message says.',
  },
  'invalid-cursor': {
    meaning: 'The cursor was not issued by a listing of this folder, or not by the change feed.',
    action: 'List the folder again from the beginning.',
  },
  'cursor-expired': {
    meaning: 'The change feed no longer has all changes after the cursor: it is too old, or the database was lost.',
    action: 'Get a new cursor at `/-/changes`, and then list the folders again.',
  },
  'same-path': {
    meaning: 'The source and the destination are the same, or the new name is the current one.',
    action: 'Choose another destination or name.',
  },
  'folder-into-itself': {
    meaning: 'The destination is inside the folder that is copied or moved.',
    action: 'Choose a destination outside the source folder.',
  },
  'destination-contains-source': {
    meaning: 'The destination to replace contains the source.',
    action: 'Choose another destination, or move the source out of that folder first.',
  },
  'incomplete-body': {
    meaning: 'The request body ended early, or does not have the announced length.',
    action: 'Send the request again. If it fails again, check for a proxy that truncates bodies.',
  },
  'lfs-pointer': {
    meaning: 'The uploaded file is a Git LFS pointer, which represents another file.',
    action: 'Upload the file itself.',
  },
  'rejected-by-store': {
    meaning: 'The backend rejected the change as invalid. The message quotes its reason.',
    action: 'Correct the request as the message says.',
  },
  'unsupported-image': {
    meaning: 'The file is empty, or is not an image of a supported format.',
    action:
      'Request thumbnails only for JPEG, PNG, WebP, GIF, AVIF, TIFF and SVG. Videos and PDFs need programs on the server.',
  },
  'damaged-image': {
    meaning: 'The image is damaged or incomplete.',
    action: 'Upload the image again.',
  },
  'condition-failed': {
    meaning: 'A condition of the request does not hold, such as `If-Match` or `If-None-Match`.',
    action: 'Read the current version, and decide again.',
  },
  'file-changed': {
    meaning: 'The file is not the version of the request, because it changed or was deleted meanwhile.',
    action: 'Read the current version and its `ETag`, and decide again.',
  },
  'name-taken': {
    meaning: 'The request only creates new files (`If-None-Match: *`), and the file already exists.',
    action: 'Choose another name, or send the request without the condition to replace the file.',
  },
  'range-unsatisfiable': {
    meaning: 'The range starts after the last byte of the file.',
    action: 'Request a range within the size in `Content-Range`.',
  },
  'too-large': {
    meaning: 'The content exceeds a limit that has no code of its own.',
    action: 'Reduce the content as the message says.',
  },
  'upload-too-large': {
    meaning: 'The file is larger than `MAX_UPLOAD_SIZE`.',
    action: 'Upload a smaller file, or raise the setting.',
  },
  'too-large-for-store': {
    meaning: 'The file is larger than the store, or a proxy in front of it, accepts.',
    action: 'Upload a smaller file, or use another store.',
  },
  'zip-too-large': {
    meaning: 'The archive would have more than 200,000 files and folders.',
    action: 'Download subfolders one by one.',
  },
  'too-many-properties': {
    meaning: 'A file or folder, a user or a copy would have too many WebDAV properties. Status 507 for WebDAV.',
    action: 'Remove properties, or copy parts of the folder.',
  },
  'no-download-url': {
    meaning: 'Files of 6 MB and more need a presigned URL, which the store does not provide for this file.',
    action: 'Use a store with presigned URLs, or fetch the file from the backend itself.',
  },
  'image-too-large': {
    meaning: 'The image exceeds a limit of thumbnails: bytes, pixels or memory.',
    action: 'Upload the image with fewer pixels, or as a JPEG.',
  },
  'image-too-complex': {
    meaning: 'Drawing the image takes more than 10 seconds of CPU time.',
    action: 'Upload a simpler image. Holdall tries again after a minute.',
  },
  denied: {
    meaning: 'The backend denied access: the operating system, the object store or GitHub.',
    action: 'Give the service the permission. Run `holdall doctor` to see which one.',
  },
  'read-only': {
    meaning: 'The service accepts no changes, because `READ_ONLY` is set.',
    action: 'Send only read requests, or ask the operator to allow changes.',
  },
  'file-archived': {
    meaning: 'The object is in an archive storage class and must be restored first.',
    action: 'Restore the object in the object store, then try again.',
  },
  'repository-archived': {
    meaning: 'The repository is archived, so GitHub rejects changes.',
    action: 'Unarchive the repository, or set `READ_ONLY=true`.',
  },
  'token-lacks-permission': {
    meaning: 'The token in `GITHUB_TOKEN` cannot write to the repository.',
    action: 'Give the token the permission "Contents: read and write", or set `READ_ONLY=true`.',
  },
  'branch-protected': {
    meaning: 'A rule of the branch forbids the change.',
    action: 'Let the owner of the token bypass the rules, or set `GITHUB_BRANCH` to another branch.',
  },
  unsupported: {
    meaning: 'The store does not support the operation.',
    action: 'Use another store. Run `holdall doctor` to see what the store supports.',
  },
  'folder-too-large': {
    meaning: 'The folder has more entries than the backend can list.',
    action: 'Split the folder with another tool, such as git.',
  },
  'store-inconsistent': {
    meaning: 'The object store violates the S3 API, so the operation could lose data.',
    action: 'Run `holdall doctor` to test the store.',
  },
  unavailable: {
    meaning: 'The operation failed temporarily, for a reason that has no code of its own.',
    action: 'Try again after `Retry-After`.',
  },
  'store-unreachable': {
    meaning: 'The store did not respond, or its disk is not mounted. The change might have been made.',
    action: 'Check the result, then try again after `Retry-After`. Operators: run `holdall doctor`.',
  },
  'store-busy': {
    meaning: 'The store throttles requests or fails.',
    action: 'Try again after `Retry-After`.',
  },
  'disk-error': {
    meaning:
      'The disk reported an error for the file or folder that the message names (`EIO`), or another program replaced a folder in `.holdall` with a file or a symbolic link.',
    action: 'Check the disk, and restore the file from a backup. Move the other file or the link away.',
  },
  'upload-in-use': {
    // The status of tus for a locked upload: clients retry after it.
    status: 423,
    meaning:
      'Another request writes the same resumable upload, its state is temporarily unavailable, or a part of it has a checksum while URLs of parts are valid.',
    action: 'Try again after `Retry-After`.',
  },
  'store-full': {
    status: 507,
    meaning:
      'The store has no space left, its quota is exhausted, or a disk has less than `MIN_FREE_SPACE`. With a repository also: unfinished uploads in parts have 1 GiB.',
    action: 'Delete files permanently, empty the trash, or raise the quota. Finish or cancel uploads in parts.',
  },
  'store-not-writable': {
    meaning: 'The health check cannot write to the store.',
    action: 'Give the service write access, or set `READ_ONLY=true`.',
  },
  'store-misconfigured': {
    meaning: 'A setting of the store is wrong. The message names it.',
    action: 'Correct the setting and restart the service.',
  },
  'unexpected-store-response': {
    meaning: 'The response is not from the store, for example from a proxy or a web page.',
    action: 'Check the address of the store in the settings, and proxies in front of it.',
  },
  'bucket-not-found': {
    meaning: 'The bucket does not exist at this endpoint.',
    action: 'Check `S3_BUCKET` and `S3_ENDPOINT`.',
  },
  'invalid-bucket-name': {
    meaning: '`S3_BUCKET` is not a valid bucket name.',
    action: 'Set `S3_BUCKET` to the bucket name only.',
  },
  'unknown-access-key': {
    meaning: 'The object store does not recognise the access key.',
    action: 'Check `S3_ACCESS_KEY_ID` and `S3_ENDPOINT`.',
  },
  'wrong-secret-key': {
    meaning: 'The secret key does not belong to the access key.',
    action: 'Check `S3_SECRET_ACCESS_KEY`.',
  },
  'expired-access-key': {
    meaning: 'The temporary credentials have expired, or the session token belongs to another access key.',
    action: 'Set `S3_ACCESS_KEY_ID`, `S3_SECRET_ACCESS_KEY` and `S3_SESSION_TOKEN` to valid credentials.',
  },
  'credentials-missing': {
    meaning: 'No AWS credentials were found.',
    action: 'Set `S3_ACCESS_KEY_ID` and `S3_SECRET_ACCESS_KEY`, or give the machine a role.',
  },
  'clock-skew': {
    meaning: 'The clock of the server differs too much from the clock of the object store.',
    action: 'Synchronise the clock of the server.',
  },
  'wrong-region': {
    meaning: 'The bucket is in another region.',
    action: 'Set `S3_REGION` and `S3_ENDPOINT` to the region of the bucket.',
  },
  'list-permission-missing': {
    meaning: 'The access key cannot list the bucket.',
    action: 'Give the access key the permission `s3:ListBucket` on the bucket.',
  },
  'token-rejected': {
    meaning: 'GitHub rejected the token: it is wrong, has expired, or cannot read the repository.',
    action: 'Set `GITHUB_TOKEN` to a valid token with access to the repository.',
  },
  'repository-not-found': {
    meaning: 'The repository does not exist, or the token cannot read it.',
    action: 'Check `GITHUB_OWNER`, `GITHUB_REPO` and the token.',
  },
  'branch-not-found': {
    meaning: 'The branch does not exist.',
    action: 'Check `GITHUB_BRANCH`, or set `GITHUB_CREATE_BRANCH=true`.',
  },
  'quota-exhausted': {
    meaning: 'The request quota of GitHub is exhausted.',
    action: 'Try again after `Retry-After`, or use a token with a larger quota.',
  },
  'outcome-unknown': {
    meaning: 'GitHub or the disk did not confirm the change. It might have been made.',
    action: 'Check the result before you send the request again.',
  },
  'listing-incomplete': {
    meaning: 'The store does not list an existing file, so Holdall removed nothing.',
    action: 'Send the request again. If it fails again, run `holdall doctor`.',
  },
  'file-busy': {
    meaning: 'Other programs change the file or branch too often for a consistent read or write.',
    action: 'Try again after `Retry-After`.',
  },
  'temporary-folder-full': {
    status: 507,
    meaning: 'The folder for temporary files (`TMPDIR`) is full.',
    action: 'Send the form field `prefix` before the file, or free space in `TMPDIR`.',
  },
  'cache-unavailable': {
    meaning: 'The cache folder (`CACHE_DIR`) is full or not writable.',
    action: 'Free space in `CACHE_DIR`, or correct its permissions.',
  },
  'state-full': {
    status: 507,
    meaning:
      'The disk with the database, which is in `STATE_DIR` or on the PostgreSQL server, is full. Only functions that need the database fail; files are not affected.',
    action: 'Free space on that disk. No restart is needed.',
  },
  'database-unavailable': {
    meaning: 'The database does not respond. Only functions that need it fail; files are not affected.',
    action: 'Try again after `Retry-After`. Operators: see the log, and run `holdall doctor`.',
  },
  'thumbnail-failed': {
    meaning: 'The server is too busy to draw the image within 30 seconds, or out of memory.',
    action: 'Try again after `Retry-After`.',
  },
  overloaded: {
    meaning: 'Too many operations of this kind run at the same time.',
    action: 'Try again after `Retry-After`.',
  },
  'shutting-down': {
    meaning: 'The service is stopping.',
    action: 'Try again after `Retry-After`.',
  },
  'sessions-unavailable': {
    meaning: 'The list of revoked sessions cannot be read or written.',
    action: 'Try again later. Operators: check `STATE_DIR` or `REDIS_URL`.',
  },
  'identity-provider-unavailable': {
    meaning: 'The OpenID Connect provider or the issuer of tokens does not respond as expected.',
    action: 'Try again later. Operators: check `OIDC_ISSUER`, `JWT_ISSUER` and the log.',
  },
};

/** The `code` of a failure: stable, for programs and translations. */
export type ErrorCode = StoreErrorCode | keyof typeof HTTP_ERRORS;

/** Every error code of the HTTP API. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorDescription>> = {
  ...HTTP_ERRORS,
  ...withStatus(STORE_ERRORS),
};

function withStatus(descriptions: typeof STORE_ERRORS): Record<StoreErrorCode, ErrorDescription> {
  const codes = Object.keys(descriptions) as StoreErrorCode[];
  const entries = codes.map((code) => [code, { status: STATUS_OF_KIND[KIND_OF_CODE[code]], ...descriptions[code] }]);
  return Object.fromEntries(entries) as Record<StoreErrorCode, ErrorDescription>;
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
