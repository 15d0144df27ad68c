import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingFile } from '../../files/upload.ts';
import { isStoreError, quoted, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import { encodePath, nameOf } from '../../model/path.ts';
import { mediaTypeOfUpload } from '../../model/presentation.ts';
import type { PartToPresign, PendingUpload, PresignedParts } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { checkedBody } from '../../streams/bodies.ts';
import { removeUpload } from '../../uploads/expiry.ts';
import type { NewUpload, Upload } from '../../uploads/uploads.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import { clientNetwork, clientSite } from '../limits/connections.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { quoteEtag } from '../preconditions.ts';
import { publicPathOf } from '../public-path.ts';
import type { Service, UploadService } from '../service.ts';
import { confirmModified, lengthOf, RequestBody } from './requests.ts';

/** The part of an upload that the body of a request is. */
export interface Part {
  /** The position of its first byte in the content. */
  readonly offset: number;
  /** Bytes of the whole content, if the request says so. */
  readonly size?: number | undefined;
  /** Whether the content is complete after the part. Default: when it has its size. */
  readonly isLast?: boolean;
  /** Discards the part if its bytes are not those that the client meant. */
  readonly check?: ContentCheck | undefined;
  /** Is called with offsets that are durable before the body ends. */
  readonly onDurable?: (offset: number) => void;
  /** Is called when the content is complete, before it is stored. */
  readonly onComplete?: () => void;
}

/** A part to append to an upload. `size` is that of the whole content, if it is known. */
interface AppendedPart {
  readonly upload: Upload;
  readonly part: Part;
  readonly size: number | undefined;
  readonly signal: AbortSignal;
}

/** The comparison of a body with a checksum in its headers. */
export interface ContentCheck {
  /** Adds the next bytes of the body. */
  readonly update: (bytes: Buffer | string) => void;
  /** Throws if the bytes have another checksum. */
  readonly verify: () => Promise<void>;
}

/** What a request found or did: the bytes that arrived, and the file if the upload is complete. */
export interface Received {
  readonly offset: number;
  readonly file?: { readonly path: string; readonly etag: string } | undefined;
  /** Whether this request stored the file, and no other file was at its path. */
  readonly isNew?: boolean;
  /** The ID of the change that stored the file. */
  readonly change?: string | undefined;
  /** When the upload now expires, if that has changed. */
  readonly expiresAt?: Date | undefined;
}

/** The error for a part that does not begin where the earlier ones end. */
export class OffsetMismatch extends HttpError {
  /** Bytes that have arrived. */
  readonly actual: number;

  constructor(sent: number, actual: number) {
    super('upload-offset-mismatch', `The part begins at byte ${sent}, but ${actual} bytes have arrived.`);
    this.actual = actual;
  }
}

/** An upload as the client describes it. */
export type DescribedUpload = Omit<NewUpload, 'owner' | 'ownerHasEntry' | 'network' | 'site' | 'appToken'>;

type ReceivingService = Pick<Service, 'access' | 'maxUploadSize' | 'readOnly' | 'publicUrl' | 'basePath'>;

/** Receives the content of uploads in several requests, whatever their protocol. */
export class UploadReceiver {
  readonly #service: ReceivingService;
  readonly #uploads: UploadService;
  readonly #publicPath: string;

  constructor(service: ReceivingService, uploads: UploadService) {
    this.#service = service;
    this.#uploads = uploads;
    this.#publicPath = publicPathOf(service);
  }

  /** Begins an upload of the user. Throws the errors that storing the file would have now. */
  async begin(request: FastifyRequest, described: DescribedUpload): Promise<Upload> {
    const { files, user, appToken } = accessOf(request);
    const { path, condition: requested } = described;
    const ownerHasEntry = user !== undefined && this.#service.access.policy().userEntry(user.name) !== undefined;
    // In the access mode `local`, the network is this machine, and its programs have all permissions.
    const isAnonymous = user === undefined && this.#service.access.mode !== 'local';
    const client = {
      network: isAnonymous ? clientNetwork(request.ip) : undefined,
      site: isAnonymous ? clientSite(request.ip) : undefined,
    };
    this.#requireSize(described.size);
    return files.beginUpload({ path, condition: requested }, ({ condition }) =>
      this.#create({ ...described, owner: user?.name, ownerHasEntry, ...client, appToken, condition }),
    );
  }

  async #create(described: NewUpload): Promise<Upload> {
    const { table, contents } = this.#uploads;
    const { path, size, condition } = described;
    const upload = await table.create(described);
    try {
      const type = mediaTypeOfUpload(described.type, nameOf(path));
      const { modified, owner: user } = described;
      await contents.createUpload(upload.id, { file: path, type, size, modified, condition, user });
    } catch (error) {
      await table.remove(upload.id);
      throw error;
    }
    return upload;
  }

  /** Returns an upload of the user; with an app token, only one that it began. Throws `upload-not-found`. */
  async find(request: FastifyRequest, id: string): Promise<Upload> {
    const { user, appToken } = accessOf(request);
    const found = await this.#uploads.table.find(id);
    const isOwn = found?.owner === user?.name && (appToken === undefined || found?.appToken === appToken);
    if (found && isOwn) return found;
    throw new HttpError('upload-not-found', `The upload ${quoted(id)} does not exist or has expired.`);
  }

  /** Returns the path of an upload, as clients reach it. */
  urlOf({ id }: Pick<Upload, 'id'>): string {
    return `${this.#publicPath}/-/uploads/${id}`;
  }

  /** Returns the header with the URL that `presign` responds to, if the client can send parts to the store itself. */
  partsHeader(upload: Upload): Readonly<Record<string, string>> {
    const isDirect = this.#uploads.direct !== undefined && upload.size !== undefined && upload.etag === undefined;
    return isDirect ? { 'upload-parts': `${this.urlOf(upload)}/parts` } : {};
  }

  /** Sets the headers that describe the file of a complete upload. */
  describeStored(reply: FastifyReply, { file, change }: Pick<Received, 'file' | 'change'>): void {
    if (change !== undefined) reply.header('x-change-id', change);
    if (!file) return;
    reply.header('content-location', `${this.#publicPath}/file/${encodePath(file.path)}`);
    if (file.etag !== '') reply.header('etag', quoteEtag(file.etag));
  }

  /** Returns the requests by which the client sends parts to the store. A request that still writes the upload ends first. */
  async presign(request: FastifyRequest, upload: Upload, parts: readonly PartToPresign[]): Promise<PresignedParts> {
    const { id, path, size, etag } = upload;
    const { direct, leases, table } = this.#uploads;
    if (!direct) throw new StoreError('unsupported', 'This service receives the parts of uploads itself.');
    this.#requireSize(size);
    if (etag !== undefined) {
      throw new HttpError('upload-offset-mismatch', `All ${size} bytes of the upload have arrived.`);
    }
    await accessOf(request).files.requireUnlocked(path);
    const { expires } = direct;
    const presigned = await leases.run(id, () => undefinedIfNotFound(direct.presignParts(id, parts, { expires })));
    if (!presigned) throw contentNotFound(id);
    // The content arrives in the store.
    if (table.expiresSoon(upload) && parts.length > 0) await table.extend(id);
    return presigned;
  }

  /** Removes an upload, and what has arrived. A request that still writes it ends first. */
  async remove(upload: Upload): Promise<void> {
    await removeUpload(this.#uploads, upload);
  }

  /**
   * Returns an upload of the user, and what has arrived of it. A request that still writes it ends first. With
   * `storesComplete`, a content that has its size becomes a file, because clients take such an offset for success.
   */
  async stateOf(
    request: FastifyRequest,
    reply: FastifyReply,
    { id, storesComplete }: { readonly id: string; readonly storesComplete: boolean },
  ): Promise<{ readonly upload: Upload; readonly received: Received }> {
    try {
      const upload = await this.find(request, id);
      return { upload, received: await this.#stateOf(request, reply, upload, { storesComplete }) };
    } catch (error) {
      if (!isStoreError(error) || error.kind !== 'unavailable') throw error;
      // Clients such as tus-js-client begin a new upload after any other error status than that of a lock.
      throw new StoreError('upload-in-use', error.message, { retryAfter: error.retryAfter ?? 1, cause: error });
    }
  }

  async #stateOf(
    request: FastifyRequest,
    reply: FastifyReply,
    upload: Upload,
    { storesComplete }: { readonly storesComplete: boolean },
  ): Promise<Received> {
    const { id, size } = upload;
    if (upload.etag !== undefined) return this.#repeat(upload, size ?? 0, 0);
    const findState = async (): Promise<Received> => {
      const content = await this.#open(upload);
      if (!content) return this.#recover(upload, size ?? 0);
      const { offset } = content;
      if (!storesComplete || offset !== size) return { offset };
      if (this.#service.readOnly) throw readOnlyError();
      return { offset, ...(await this.#finish(request, reply, upload)), ...changeOf(request) };
    };
    return this.#uploads.leases.run(id, findState, { signal: clientSignal(reply) });
  }

  /** Appends the body of a request. Stores the file if the content is complete. Throws `OffsetMismatch`. */
  async receive(request: FastifyRequest, reply: FastifyReply, upload: Upload, part: Part): Promise<Received> {
    const { id } = upload;
    const { offset, isLast } = part;
    if (upload.etag !== undefined) return this.#repeat(upload, offset, lengthOf(request.raw));
    if (part.size !== undefined && upload.size !== undefined && part.size !== upload.size) {
      throw inconsistentLength(part.size, upload.size);
    }
    const size = upload.size ?? part.size;
    this.#requireSize(size);
    const clientLeft = clientSignal(reply);
    const append = async (ended: AbortSignal): Promise<Received> => {
      const content = await this.#open(upload);
      if (!content) return this.#recover(upload, offset);
      if (content.offset !== offset) throw new OffsetMismatch(offset, content.offset);
      if (size !== undefined && size < offset) throw tooLong(size);
      if (upload.size === undefined && size !== undefined) await this.#uploads.table.setSize(id, size);
      // The end of the upload checks it again. Until then, a large file would be sent without effect.
      await accessOf(request).files.requireUnlocked(upload.path);
      const signal = AbortSignal.any([ended, clientLeft]);
      const { reached, expiresAt } = await this.#append(request, content, { upload, part, size, signal });
      if (!(isLast ?? reached === size)) return { offset: reached, expiresAt };
      if (size !== undefined && reached !== size) throw inconsistentLength(reached, size);
      if (size === undefined) await this.#uploads.table.setSize(id, reached);
      part.onComplete?.();
      return { offset: reached, ...(await this.#finish(request, reply, upload)), ...changeOf(request) };
    };
    return this.#uploads.leases.run(id, append, { signal: clientLeft });
  }

  /** Appends the body of a request. Returns the new offset, and when the upload expires if that has changed. */
  async #append(
    { raw, headers }: FastifyRequest,
    content: PendingUpload,
    { upload, part, size, signal }: AppendedPart,
  ): Promise<{ readonly reached: number; readonly expiresAt?: Date | undefined }> {
    const limit = (size ?? this.maxSize ?? Number.POSITIVE_INFINITY) - content.offset;
    const length = lengthOf(raw);
    if (length !== undefined && length > limit) throw tooLong(content.offset + limit);
    if (length === 0 || (length === undefined && headers['transfer-encoding'] === undefined))
      return { reached: content.offset };
    allowLongBody(raw);
    const { check, onDurable } = part;
    const { table } = this.#uploads;
    const { id, path } = upload;
    const expiresSoon = table.expiresSoon(upload);
    let extended: Promise<Date | undefined> | undefined;
    const onChunk = (bytes: Buffer | string) => {
      check?.update(bytes);
      if (!expiresSoon || extended) return;
      // At once, because the body of a slow client can take hours.
      extended = table.extend(id);
      extended.catch(() => {});
    };
    const body = checkedBody(new RequestBody(raw), { limit, onChunk });
    // A part without a length can be the whole rest.
    const maxSize = length ?? (size === undefined ? undefined : limit);
    const options = { verify: check?.verify, onDurable, signal, maxSize, file: path };
    const reached = await content.append(body, options).catch((error) => this.#fail(upload, content, error));
    return { reached, expiresAt: await extended };
  }

  /**
   * Throws the error of an append. If the store is full, removes an upload of an anonymous user: no other client can see
   * or cancel it, so that it would take the last space for days.
   */
  async #fail({ id, network }: Upload, content: PendingUpload, error: unknown): Promise<never> {
    if (network !== undefined && isStoreError(error) && error.code === 'store-full') {
      await content.remove();
      await this.#uploads.table.remove(id);
    }
    throw error;
  }

  async #finish(
    request: FastifyRequest,
    reply: FastifyReply,
    upload: Upload,
  ): Promise<Pick<Received, 'file' | 'isNew'>> {
    const { id, path, condition, type, modified } = upload;
    let isNew = condition === 'absent';
    const { table, contents } = this.#uploads;
    const body = await contents.openUpload(id);
    await table.beginCommit(id);
    const target = { path, condition };
    const onOutcome: IncomingFile['onOutcome'] = ({ replaced }) => {
      isNew = !replaced;
    };
    const incoming = { target, body, declaredType: type, modified: () => modified, onOutcome };
    const file = await accessOf(request)
      .files.upload(incoming)
      .catch(async (error: unknown) => {
        // Otherwise, content that is lost later would be taken for a stored file.
        if (await undefinedIfNotFound(contents.openUpload(id))) await table.endCommit(id);
        throw error;
      });
    await table.finish(id, file);
    confirmModified(reply, () => modified, file);
    return { file, isNew };
  }

  /** Responds to a part of an upload that is complete, as after a lost response. */
  #repeat({ size = 0, path, etag = '' }: Upload, offset: number, length: number | undefined): Received {
    if (offset !== size) throw new OffsetMismatch(offset, size);
    if (length !== undefined && length > 0) throw tooLong(size);
    return { offset: size, file: { path, etag } };
  }

  /** Returns the content of an upload; undefined if it became a file, and the process ended before it recorded that. */
  async #open({ id }: Upload): Promise<PendingUpload | undefined> {
    const content = await undefinedIfNotFound(this.#uploads.contents.openUpload(id));
    if (content || (await this.#uploads.table.isCommitting(id))) return content;
    throw contentNotFound(id);
  }

  /** Records that an upload is complete, without the ETag, which is not known, unless another request has recorded it. */
  async #recover(upload: Upload, offset: number): Promise<Received> {
    const current = await this.#uploads.table.find(upload.id);
    if (current?.etag !== undefined) return this.#repeat(current, offset, 0);
    const file = { path: upload.path, etag: '' };
    await this.#uploads.table.finish(upload.id, file);
    return this.#repeat({ ...upload, ...file }, offset, 0);
  }

  /** Maximum bytes of an upload; undefined without a limit. */
  get maxSize(): number | undefined {
    const limits = [this.#service.maxUploadSize, this.#uploads.maxBytes].filter((limit) => limit !== undefined);
    return limits.length === 0 ? undefined : Math.min(...limits);
  }

  #requireSize(size: number | undefined): void {
    const { maxSize } = this;
    if (size === undefined || maxSize === undefined || size <= maxSize) return;
    throw new StoreError('upload-too-large', `The file is larger than the limit of ${maxSize} bytes.`);
  }
}

/** The error for a part whose `Content-Type` is not the one of its protocol. */
export function wrongType({ 'content-type': found = '' }: IncomingHttpHeaders, expected: string): HttpError {
  return new HttpError('offset-type-required', `The Content-Type is ${quoted(found)}. Send ${expected}.`);
}

function contentNotFound(id: string): HttpError {
  const message = `The content of the upload ${quoted(id)} no longer exists. Begin a new upload.`;
  return new HttpError('upload-not-found', message);
}

function inconsistentLength(sent: number, expected: number): HttpError {
  return new HttpError(
    'invalid-header',
    `The content has ${sent} bytes by Content-Length or Upload-Length, but ${expected} bytes by an earlier request.`,
  );
}

function tooLong(size: number): StoreError {
  return new StoreError('upload-too-large', `The content is longer than the ${size} bytes of the upload.`);
}
