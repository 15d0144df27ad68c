import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessDenied } from '../../access/permission-checks.ts';
import { isStoreError, type StoreErrorCode } from '../../model/error.ts';
import { beginFailure } from '../failures.ts';
import { originalUrl } from '../request-url.ts';
import { DavError } from './dav-error.ts';
import { escapeXml } from './xml.ts';

export const XML_TYPE = 'application/xml; charset=utf-8';

/** The statuses of store errors that differ from those of the HTTP API. */
const STATUSES: Partial<Readonly<Record<StoreErrorCode, number>>> = {
  locked: 423,
  // RFC 4918, section 9.8.5: the destination exists, and "Overwrite" is "F".
  'already-exists': 412,
  'same-path': 403,
  'folder-into-itself': 403,
  'destination-contains-source': 403,
  'root-not-allowed': 403,
  'store-full': 507,
};

/** Sends an error as XML (RFC 4918, section 14.5), with the message in an element of its own. */
export function sendDavFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { message, condition } =
    error instanceof DavError ? beginDavError(error, request, reply) : begin(error, request, reply);
  const text = `<H:message xmlns:H="https://holdall-files.github.io/holdall/">${escapeXml(message)}</H:message>`;
  return reply
    .type(XML_TYPE)
    .send(`<?xml version="1.0" encoding="utf-8"?>\n<D:error xmlns:D="DAV:">${condition ?? ''}${text}</D:error>\n`);
}

function beginDavError(error: DavError, request: FastifyRequest, reply: FastifyReply): DavError {
  if (error.status === 403) request.access?.recordRefusal(error.message);
  reply.code(error.status).header('cache-control', 'no-store');
  return error;
}

function begin(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): { readonly message: string; readonly condition?: string } {
  const { error: message, code } = beginFailure(error, request, reply);
  if (!isStoreError(error)) {
    const isPrivilege = error instanceof AccessDenied;
    return { message, ...(isPrivilege && { condition: '<D:need-privileges/>' }) };
  }
  const status = STATUSES[error.code];
  if (status !== undefined) reply.code(status);
  if (code !== 'locked') return { message };
  const href = escapeXml(originalUrl(request));
  return { message, condition: `<D:lock-token-submitted><D:href>${href}</D:href></D:lock-token-submitted>` };
}
