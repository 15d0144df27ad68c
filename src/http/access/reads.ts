import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditEvent } from '../../access/audit.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';

/** What a response contains, for the audit log. */
export interface Read {
  /** `fetch signed URL`: the request has no user, because its URL is the permission. */
  readonly action: 'fetch' | 'fetch signed URL' | 'thumbnail' | 'preview' | 'download archive';
  /** The file; of an archive, each requested file and folder. */
  readonly paths: readonly (FilePath | FolderPath)[];
  /** The ID of an earlier content; undefined for the current one. */
  readonly version?: KeptId | undefined;
}

/** Maximum paths of one line. Programs that collect logs cut long lines. */
const PATHS_PER_EVENT = 100;

/**
 * Calls `record` when the response of a read has ended: once, or once for each hundred paths. Responses without content, such
 * as 304 and errors, are no reads. If the connection broke, the bytes are what the system has accepted, so the client has
 * received at most these.
 */
export function whenSent(
  { socket }: FastifyRequest,
  reply: FastifyReply,
  read: Read,
  record: (event: AuditEvent) => void,
): void {
  const writtenBefore = socket.bytesWritten;
  const { raw } = reply;
  raw.once('close', () => {
    const isRedirect = raw.statusCode === 302;
    if (!raw.headersSent || !(isRedirect || raw.statusCode === 200 || raw.statusCode === 206)) return;
    const isComplete = raw.writableFinished;
    const written = socket.bytesWritten - writtenBefore;
    // Decoded content has an unknown length: its bytes include the headers.
    const length = Number(reply.getHeader('content-length') ?? written);
    const sent = isComplete ? length : Math.min(length, written);
    const range = reply.getHeader('content-range')?.toString();
    for (let start = 0; start < read.paths.length; start += PATHS_PER_EVENT) {
      const paths = read.paths.slice(start, start + PATHS_PER_EVENT);
      const [path] = paths;
      record({
        event: 'read',
        action: read.action,
        ...(read.paths.length === 1 && path !== undefined ? { path } : { paths }),
        ...(read.version !== undefined && { version: read.version }),
        ...(range !== undefined && { range }),
        bytes: isRedirect ? null : sent,
        ...(isComplete ? { outcome: 'done' } : { outcome: 'failed', reason: INCOMPLETE }),
      });
    }
  });
}

const INCOMPLETE = 'The connection ended before the end of the response.';
