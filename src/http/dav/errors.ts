import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessDenied } from '../../access/permission-checks.ts';
import { isStoreError, type StoreErrorCode } from '../../model/error.ts';
import { beginFailure } from '../failures.ts';
import { DavError } from './dav-error.ts';
import type { DavUrls } from './targets.ts';
import { escapeXml } from './xml.ts';

export const XML_TYPE = 'application/xml; charset=utf-8';

/** The namespace of elements that only this service has. */
const NAMESPACE = 'https://holdall-files.github.io/holdall/';

/** The statuses of store errors that differ from those of the HTTP API. */
const STATUSES: Partial<Readonly<Record<StoreErrorCode, number>>> = {
  locked: 423,
  // RFC 4918, section 9.8.5: the destination exists, and "Overwrite" is "F".
  'already-exists': 412,
  'same-path': 403,
  'folder-into-itself': 403,
  'destination-contains-source': 403,
  'root-not-allowed': 403,
  'too-many-properties': 507,
};

/** An error for the client. `code`: that of the HTTP API, if the error is not only of WebDAV. */
interface Failure extends Pick<DavError, 'message' | 'condition'> {
  readonly code?: string;
}

/** Sends an error as XML (RFC 4918, section 14.5), with the message and the code in elements of their own. */
export function sendDavFailure(
  error: unknown,
  { request, reply, urls }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly urls: DavUrls },
): FastifyReply {
  const isDav = error instanceof DavError;
  const { message, condition, code }: Failure = isDav
    ? beginDavError(error, request, reply)
    : begin(error, { request, reply, urls });
  const own = (name: string, text: string) => `<H:${name} xmlns:H="${NAMESPACE}">${escapeXml(text)}</H:${name}>`;
  const text = own('message', message) + (code === undefined ? '' : own('code', code));
  return reply
    .type(XML_TYPE)
    .send(`<?xml version="1.0" encoding="utf-8"?>\n<D:error xmlns:D="DAV:">${condition ?? ''}${text}</D:error>\n`);
}

function beginDavError(error: DavError, request: FastifyRequest, reply: FastifyReply): DavError {
  if (error.status === 403) request.access?.recordRefusal(error.message);
  reply.code(error.status).header('cache-control', 'no-store');
  return error;
}

function begin(error: unknown, { request, reply, urls }: Parameters<typeof sendDavFailure>[1]): Failure {
  const { error: message, code } = beginFailure(error, request, reply);
  if (!isStoreError(error)) {
    const isPrivilege = error instanceof AccessDenied;
    return { message, code, condition: isPrivilege ? '<D:need-privileges/>' : undefined };
  }
  const status = STATUSES[error.code];
  if (status !== undefined) reply.code(status);
  if (error.lock === undefined) return { message, code, condition: undefined };
  // RFC 4918, section 16: the locked file or folder, which often is not that of the request.
  const href = escapeXml(urls.hrefOf(error.lock.path));
  return { message, code, condition: `<D:lock-token-submitted><D:href>${href}</D:href></D:lock-token-submitted>` };
}
