import type { FastifyReply } from 'fastify';
import type { IncomingFile } from '../../files/upload.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { encodePath, type FilePath } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { sendContent } from '../content.ts';
import { digestCheckOf } from '../digests.ts';
import { HttpError } from '../errors.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { prefersPage } from '../page/listing-page.ts';
import { finderOf, parseModifiedHeader, quoteEtag, writeCondition } from '../preconditions.ts';
import { discardRest } from '../unread-bodies.ts';
import { parseComplete } from '../uploads/ietf.ts';
import { confirmModified, lengthOf, RequestBody } from '../uploads/requests.ts';
import { requireClutterAllowed } from './clutter.ts';
import { bothOf, requireIf, requireParent } from './conditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { canOnlyList, findFile, pathOf } from './targets.ts';

/** GET and HEAD: the bytes of a file, or a sentence about a folder. */
export function get(context: DavContext): FastifyReply | Promise<FastifyReply> {
  if (context.ifLists.length > 0) return requireIf(context).then(() => sendTarget(context));
  return sendTarget(context);
}

/** A file in memory is sent without a promise, which would cost a third of the time for it. */
function sendTarget(context: DavContext): FastifyReply | Promise<FastifyReply> {
  const { files, target } = context;
  if (target.file === undefined || canOnlyList(files, target)) return sendFolder(context);
  const sent = sendFile(context, target.file);
  if (!(sent instanceof Promise)) return sent;
  return sent.catch((error: unknown) => {
    if (isStoreError(error, 'not-found') || isStoreError(error, 'wrong-kind')) return sendFolder(context);
    throw error;
  });
}

async function sendFolder(context: DavContext): Promise<FastifyReply> {
  const { files, target } = context;
  if (await files.folderExists(target.folder)) return describeFolder(context);
  throw new DavError(404, `There is no file or folder ${quoted(pathOf(target))}.`);
}

function sendFile({ files, request, reply, environment }: DavContext, file: FilePath) {
  const isRedirected = environment.dav.redirects && request.method === 'GET';
  return sendContent(
    request,
    reply,
    {
      read: { action: 'fetch', paths: [file] },
      stat: () => files.stat(file),
      readCached: () => files.readCached(file),
      download: async (options) =>
        isRedirected
          ? files.download(file, { ...options, asAttachment: true })
          : { content: await files.read(file, options) },
      downloadUrl: async (entry) =>
        isRedirected ? files.downloadUrl(entry, { asAttachment: true, purpose: 'read' }) : undefined,
    },
    // A content never opens as a page here: users open files in the web UI.
    { download: true, framedBy: "'none'" },
  );
}

/** Responds to a GET of a folder: a browser gets the web UI, and other clients a sentence. */
function describeFolder({ request, reply, target, environment }: DavContext): FastifyReply {
  if (prefersPage(request)) {
    return reply
      .code(302)
      .header('location', `${environment.publicPath}/${encodePath(target.folder)}`)
      .send();
  }
  const text = `This is the folder /${target.folder}. Open this address with a WebDAV client.\n`;
  return reply.type('text/plain; charset=utf-8').send(text);
}

/**
 * PUT: writes a file, all or nothing. Returns 201 for a new file and 204 for another version. Never creates folders (RFC 4918,
 * section 9.7.1), except for users who may only add files.
 */
export async function put(context: DavContext): Promise<FastifyReply> {
  const { request, reply } = context;
  try {
    const { file, isNew } = await receive(context);
    return reply
      .code(isNew ? 201 : 204)
      .header('etag', quoteEtag(file.etag))
      .send();
  } catch (error) {
    discardRest(request.raw);
    throw error;
  }
}

async function receive(context: DavContext): Promise<{ readonly file: FileEntry; readonly isNew: boolean }> {
  const { files, target, request, reply } = context;
  const { raw, headers } = request;
  if (headers['content-range'] !== undefined) {
    // RFC 9110, section 14.5.
    throw new HttpError('invalid-header', 'PUT stores a whole file. Send the request without Content-Range.');
  }
  if (parseComplete(headers) === false) {
    throw new HttpError(
      'invalid-header',
      'WebDAV stores a whole file. Send the request without "Upload-Complete: ?0".',
    );
  }
  const { file } = target;
  if (file === undefined)
    throw new DavError(405, 'The URL names a folder. Add the name of the file, or create the folder with MKCOL.');
  requireClutterAllowed(context, file);
  await files.requireWrite(file);
  context.requireWritable();
  const modifiedTime = parseModifiedHeader(headers);
  const digests = digestCheckOf(headers);
  const length = expectedLength(context);
  const condition = bothOf(await requireIf(context), await writeCondition(headers, finderOf(files, file)));
  let isNew = await requireWritable(context, file);
  let received = 0;
  allowLongBody(raw);
  const incoming: IncomingFile = {
    target: { path: file, condition },
    body: new RequestBody(raw),
    declaredType: headers['content-type'],
    maxSize: lengthOf(raw),
    modified: () => modifiedTime,
    onOutcome: ({ replaced }) => {
      isNew = !replaced;
    },
    ...((digests || length !== undefined) && {
      onChunk: (chunk) => {
        received += chunk.length;
        digests?.update(chunk);
      },
      atEnd: async () => {
        if (length !== undefined && received !== length) throw incomplete(received, length);
        await digests?.verify();
      },
    }),
  };
  const stored = await files.upload(incoming, { signal: context.signal }).catch(async (error: unknown) => {
    if (isStoreError(error, 'wrong-kind')) await requireNoFolder(context, file);
    throw error;
  });
  confirmModified(reply, incoming.modified, stored);
  return { file: stored, isNew };
}

/**
 * Throws 409 if the folder of a new file does not exist, and 405 if a folder has its name. Returns whether the file is new, if
 * the store does not find out itself.
 */
async function requireWritable(context: DavContext, file: FilePath): Promise<boolean> {
  const { files, target, environment } = context;
  if (environment.dav.findsConflicts) {
    // Checking only the parent, and not also the path twice, saves a fifth of the CPU time of a small file.
    await requireParent(context, target);
    return true;
  }
  if (files.canRead(file) && (await findFile(files, file))) return false;
  await Promise.all([requireNoFolder(context, file), requireParent(context, target)]);
  return true;
}

/** Throws 405 if a folder has the name of the file, as far as the user may know. */
async function requireNoFolder({ files, target }: DavContext, file: FilePath): Promise<void> {
  if (files.canRead(target.folder) && (await files.folderExists(target.folder))) {
    throw new DavError(405, `${quoted(file)} is a folder.`);
  }
}

/**
 * Returns the length that the Finder announces for a chunked body, which has no `Content-Length`. A connection that breaks could
 * otherwise look like the end of the file behind some proxies.
 */
function expectedLength(context: DavContext): number | undefined {
  const header = context.header('x-expected-entity-length');
  if (header === undefined || context.request.headers['transfer-encoding'] === undefined) return undefined;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw new HttpError(
    'invalid-header',
    `The header X-Expected-Entity-Length is ${quoted(header)}. Send a number of bytes.`,
  );
}

const incomplete = (received: number, length: number) =>
  new HttpError(
    'incomplete-body',
    `The body has ${received} bytes, but X-Expected-Entity-Length is ${length}. The file was not changed.`,
  );
