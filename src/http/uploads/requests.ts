import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namingOnly } from '../../files/shared-files.ts';
import type { IncomingFile, UploadTarget } from '../../files/upload.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { childFolder, type FilePath, type FolderPath, ROOT } from '../../model/path.ts';
import type { Cancellable, FileEntry, WriteCondition } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { freeOwnedChunk, setRecycler } from '../../streams/chunk-recycling.ts';
import type { LinkRequestAccess } from '../access/link-access.ts';
import { accessOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import { hasModifiedTime } from '../preconditions.ts';
import { discardRest, setReader } from '../unread-bodies.ts';

/*
 * What all requests with the content of a file have in common: forms (`POST /upload`) and raw bodies (`PUT /file/…`).
 */

/** Maximum characters of the name of a sender. */
const MAX_SENDER_LENGTH = 100;

/** Maximum folders of an upload for which another name is chosen because the store refused them. */
const MAX_TAKEN_FOLDERS = 100;

/** The checks of an upload before its body is read. */
export interface EarlyChecks {
  readonly readOnly: boolean;
  /** Whether the user began the upload earlier, so that its permissions are checked at its end. Default: false. */
  readonly isBegun?: boolean;
  /** Throws if the headers of the request are not valid. */
  readonly requireValid: () => void;
}

/** Rejects an upload before its body is read: a client that can't upload must not keep the connection open with a body. */
export function rejectEarly(
  request: FastifyRequest,
  reply: FastifyReply,
  { readOnly, isBegun = false, requireValid }: EarlyChecks,
): void {
  try {
    if (!isBegun) accessOf(request).files.requireUpload();
    if (readOnly) throw readOnlyError();
    requireValid();
  } catch (error) {
    reply.raw.once('finish', () => discardRest(request.raw));
    throw error;
  }
}

/** Returns the `Content-Length` of a request; undefined without the header. */
export function lengthOf({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

/** Returns the body of the response to a stored file. */
export function responseOf({ path, change }: { readonly path: string; readonly change?: string | undefined }) {
  const message = 'File uploaded successfully';
  return { success: true, message, path, ...(change !== undefined && { change }) } as const;
}

/** Sends a response without a body. The schema of the response can have one for other requests. */
export function withoutBody(reply: FastifyReply, status: number): FastifyReply {
  return reply.code(status).send();
}

/** Tells the client that the store keeps the modification time that it sent. */
export function confirmModified(reply: FastifyReply, modified: IncomingFile['modified'], file: FileEntry): void {
  if (hasModifiedTime(modified?.(), file)) reply.header('x-oc-mtime', 'accepted');
}

/**
 * Stores the upload of the visitor of a share link. It never replaces a file: a name that is taken gets a number. A client
 * that does not want a number sends `If-None-Match: *`, which has no effect if the link shows nothing, because the response
 * would reveal that the name is taken. For the same reason, the errors of such a link name the path that `findPath` returns.
 */
export async function uploadOfVisitor(
  visitor: LinkRequestAccess,
  incoming: Omit<IncomingFile, 'target'>,
  {
    findPath,
    condition,
    signal,
  }: { readonly findPath: () => Promise<FilePath>; readonly condition: WriteCondition | undefined } & Cancellable,
): Promise<FileEntry> {
  const { files } = visitor;
  if (visitor.permissions.includes('read')) {
    const rename = condition === undefined;
    const target = async () => ({ path: await findPath(), condition: condition ?? 'absent', rename });
    return files.upload({ ...incoming, target }, { signal });
  }
  let requested: FilePath | undefined;
  const taken = new Set<FolderPath>();
  const target = async (): Promise<UploadTarget> => {
    requested ??= await findPath();
    await files.requireWrite(requested, condition);
    const path = await visitor.freePath(requested, taken);
    const retry = async (error: unknown) => {
      const folder = await visitor.findTakenFolder(path, error);
      if (folder === undefined || taken.size === MAX_TAKEN_FOLDERS) return false;
      taken.add(folder);
      return true;
    };
    return { path, condition: 'absent', rename: true, retry };
  };
  try {
    return await files.upload({ ...incoming, target }, { signal });
  } catch (error) {
    throw requested !== undefined && isStoreError(error) ? namingOnly(error, requested) : error;
  }
}

/** Returns the folder of a sender. Throws `sender-required` unless the name is valid. */
export function parseSender(text: string): FolderPath {
  const name = text.trim();
  try {
    if (name !== '' && name.length <= MAX_SENDER_LENGTH) return childFolder(ROOT, name);
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
  const rule = `It must have 1 to ${MAX_SENDER_LENGTH} characters, and be valid as the name of a folder`;
  throw new HttpError('sender-required', `The sender ${quoted(text)} is not valid. ${rule}.`);
}

/** The error for an upload without the sender that its share link asks for. `where` says where to send it. */
export function senderMissing(where: string): HttpError {
  return new HttpError('sender-required', `Send the name of the sender as ${where} "sender".`);
}

/**
 * The content of a request. Its failure does not end the request, so that the client gets a response, whereas the
 * request itself, as a stream, would close the connection. Fails with `incomplete-body` if the client leaves.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #onData = (chunk: Buffer) => {
    if (!this.push(chunk)) this.#request.pause();
  };
  readonly #onEnd = () => void this.push(null);
  readonly #onError = (error: Error) => void this.destroy(error instanceof HttpError ? error : incompleteBody());
  readonly #onAborted = () => void this.destroy(incompleteBody());

  constructor(request: IncomingMessage) {
    super();
    setRecycler(this, freeOwnedChunk);
    // An upload can be refused before anything reads its body. Without a listener, a failure would end the process.
    this.on('error', () => {});
    setReader(request, this);
    this.#request = request;
    request.on('data', this.#onData);
    request.once('end', this.#onEnd);
    request.on('error', this.#onError);
    request.once('aborted', this.#onAborted);
    // A body that was read before, or ended early, would be stored without a part of it.
    if (request.readableDidRead || (request.destroyed && !request.readableEnded)) this.destroy(incompleteBody());
  }

  override _read(): void {
    this.#request.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const request = this.#request;
    request.off('data', this.#onData);
    request.off('end', this.#onEnd);
    request.off('error', this.#onError);
    request.off('aborted', this.#onAborted);
    // Without a listener, an error of the request would end the process.
    request.on('error', () => {});
    done(error);
  }
}

const incompleteBody = () =>
  new HttpError('incomplete-body', 'The body of the request ends before its Content-Length.');
