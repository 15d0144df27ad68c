import http from 'node:http';
import https from 'node:https';
import { type Check, type Finding, failed, notTried, ok, warning } from '../checks/check.ts';
import { LARGE_FOLDER, SMALL } from '../checks/probe.ts';
import { type Response, uploadForm } from '../checks/requests.ts';
import {
  adviceOnRefusal,
  describeResponse,
  explainAddress,
  PATHS_ADVICE,
  type PassageSubject,
  pathOf,
  requestService,
} from './address.ts';
import { FORM_BYTES, findBodyLimit, formatSize, prepareAnnouncements } from './body-limit.ts';

const UPLOADED = 'up a+b%2F é.txt';

/** Checks that uploads and all other changes pass through the reverse proxy unchanged. */
export const UPLOAD_CHECKS: readonly Check<PassageSubject>[] = [
  {
    name: 'url-upload',
    needs: 'url-same-store',
    writes: true,
    async run(subject, signal) {
      const response = await upload(subject, UPLOADED, SMALL, signal);
      if (response.status !== 200)
        return failed(`An upload of 4 KiB returned ${describeResponse(response)}`, adviceOnUpload(response));
      // Reads through the service, because only the service sees its own commit at once.
      const { body } = await requestService(subject, pathOf('/file/', subject, UPLOADED), { signal });
      if (body.equals(SMALL)) return ok('Uploaded a file of 4 KiB and downloaded the same bytes.');
      return failed('A file of 4 KiB was downloaded with different bytes than uploaded.', PATHS_ADVICE);
    },
    explain: explainAddress,
  },
  {
    name: 'url-body-size',
    needs: 'url-upload',
    timeout: 120_000,
    async run(subject, signal) {
      const { UPLOAD_CHUNK_SIZE: chunkSize } = subject.config;
      const { accepted, refused } = await findBodyLimit(subject, chunkSize, signal);
      if (refused === undefined) return ok('The proxy does not limit the size of a request.');
      const found = `The proxy refuses requests of ${formatSize(refused)} with 413`;
      if (accepted >= chunkSize)
        return ok(`${found}. The parts of the web UI have ${formatSize(chunkSize)}; other clients also need parts.`);
      return failed(`${found}: files above this size can't be uploaded.`, adviceOnLimit(accepted));
    },
    explain: () => BODY_SIZE_ADVICE,
  },
  {
    name: 'url-parts',
    needs: 'url-body-size',
    writes: true,
    timeout: 300_000,
    run: checkParts,
    explain: () => BODY_SIZE_ADVICE,
  },
  {
    name: 'url-interim-responses',
    needs: 'url-upload',
    writes: true,
    run: checkInterimResponses,
    explain: explainAddress,
  },
  {
    name: 'url-upload-buffering',
    needs: 'url-upload',
    async run(subject, signal) {
      const { complete, announce } = await prepareAnnouncements(subject, signal);
      // Apache sends the whole body to the service before it reads the response.
      if (/^Apache\b/i.test(String(complete.headers.server ?? ''))) return notTried(APACHE_NOTE);
      if (await announce(SMALL_BODY)) return ok('The proxy streams uploads to the service.');
      return warning(
        'The proxy buffers uploads: they take twice as long, use its disk, and their progress in the web UI is wrong. After a broken connection, a part begins again.',
        'Stream uploads. nginx: proxy_request_buffering off; Otherwise, set a smaller UPLOAD_CHUNK_SIZE.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-progress',
    needs: 'url-same-store',
    writes: true,
    timeout: 60_000,
    run: checkProgress,
    explain: explainAddress,
  },
  {
    name: 'url-methods',
    needs: 'url-upload',
    writes: true,
    async run(subject, signal) {
      const file = pathOf('/file/', subject, UPLOADED);
      const methods = [
        [
          'HEAD',
          await requestService(subject, file, { method: 'HEAD', signal }),
          ({ status, headers }: Response) => status === 200 && headers['content-length'] === '4096',
        ],
        [
          'OPTIONS',
          await requestService(subject, '/upload', { method: 'OPTIONS', signal }),
          ({ status, headers }: Response) => status === 204 && headers.allow !== undefined,
        ],
        [
          'PUT',
          await requestService(subject, pathOf('/file/', subject, 'put.txt'), { method: 'PUT', body: SMALL, signal }),
          ({ status }: Response) => status === 201,
        ],
        [
          'DELETE',
          await requestService(subject, `${pathOf('/delete/', subject, UPLOADED)}?permanent=true`, {
            method: 'DELETE',
            signal,
          }),
          ({ status }: Response) => status === 200,
        ],
      ] as const;
      const failures = methods.filter(([, response, isRight]) => !isRight(response));
      if (failures.length === 0) return ok('GET, HEAD, OPTIONS, POST, PUT and DELETE pass.');
      const found = failures.map(([method, response]) => `${method} returned ${describeResponse(response)}`).join('; ');
      return failed(
        found,
        'Allow GET, HEAD, OPTIONS, POST, PUT and DELETE in the proxy and in a web application firewall, and grant the user of the token manage for "/".',
      );
    },
    explain: explainAddress,
  },
];

const APACHE_NOTE =
  "Apache responds only after the end of an upload, so buffering can't be detected. It buffers uploads only with proxy-sendcl or a module such as mod_security.";

export const BODY_SIZE_ADVICE =
  'Raise the body size limit and timeouts of the proxy. nginx: client_max_body_size 0; in its server. Apache: LimitRequestBody 0. Cloudflare allows 100 MB; Traefik has a limit with the buffering middleware.';

function adviceOnUpload(response: Response): string {
  if (response.status !== 413) return adviceOnRefusal(response);
  return response.envelope === undefined ? BODY_SIZE_ADVICE : 'Raise MAX_UPLOAD_SIZE.';
}

function upload(subject: PassageSubject, name: string, bytes: Buffer, signal: AbortSignal): Promise<Response> {
  const { type, body } = uploadForm(subject.probe, name, bytes);
  return requestService(subject, '/upload', { method: 'POST', headers: { 'content-type': type }, body, signal });
}

/** Bytes of a body that a proxy accepts, and that it does not send on before more of it arrives. */
const SMALL_BODY = 100_000;

/** Maximum bytes of the part that is sent, so that the check takes seconds. */
const MAX_PART = 64 * 2 ** 20;

/** Minimum bytes of a part. */
const MIN_PART = 64 * 2 ** 10;

const TUS = { 'tus-resumable': '1.0.0' } as const;

/** Sends one part of an upload, as the web UI does, and cancels the upload. After a failure, finds a size that passes. */
async function checkParts(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const { UPLOAD_CHUNK_SIZE, MAX_UPLOAD_SIZE = Number.POSITIVE_INFINITY } = subject.config;
  const size = Math.min(UPLOAD_CHUNK_SIZE, MAX_PART, MAX_UPLOAD_SIZE - 1);
  const first = await sendPart(subject, size, signal);
  if (first === 'unsupported') return notTried(NO_UPLOADS);
  if (first === undefined) return ok(`A part of ${formatSize(size)} reached the service.`);
  const found = `A part of ${formatSize(size)} failed: ${first.found}.`;
  if (first.advice !== undefined) return failed(found, first.advice);
  for (let smaller = 2 ** Math.floor(Math.log2(size - 1)); smaller >= MIN_PART; smaller /= 2) {
    if ((await sendPart(subject, smaller + FORM_BYTES, signal)) === undefined)
      return failed(found, adviceOnLimit(smaller));
  }
  return failed(found, adviceOnLimit(0));
}

/** Why a part failed. Without advice, a smaller one can pass. */
interface PartFailure {
  readonly found: string;
  readonly advice?: string;
}

/** Sends a part of an upload that is never completed. Returns undefined if all of it reached the service. */
async function sendPart(
  subject: PassageSubject,
  size: number,
  signal: AbortSignal,
): Promise<PartFailure | 'unsupported' | undefined> {
  const path = Buffer.from(`${subject.probe}part.bin`).toString('base64');
  const begun = await requestService(subject, '/-/uploads', {
    method: 'POST',
    headers: { ...TUS, 'upload-length': String(size + 1), 'upload-metadata': `path ${path}` },
    body: Buffer.alloc(0),
    signal,
  });
  if (begun.envelope?.code === 'unknown-route') return 'unsupported';
  const url = urlOfUpload(begun);
  if (url === undefined) return { found: `POST returned ${describeResponse(begun)}`, advice: adviceOnParts(begun) };
  try {
    const headers = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    const body = Buffer.alloc(size, SMALL);
    const sent = await requestService(subject, url, { method: 'PATCH', headers, body, signal });
    if (sent.status === 204 && sent.headers['upload-offset'] === String(size)) return undefined;
    const found = `PATCH returned ${describeResponse(sent)}`;
    const isPassing = sent.envelope === undefined && [408, 413, 502, 504, 524].includes(sent.status);
    return isPassing ? { found } : { found, advice: adviceOnParts(sent) };
  } catch (error) {
    signal.throwIfAborted();
    return { found: error instanceof Error ? error.message : String(error) };
  } finally {
    await cancelUpload(subject, url);
  }
}

/** Returns the URL of an upload that has begun. */
function urlOfUpload({ status, headers: { location } }: Response): string | undefined {
  // A proxy can have removed a prefix of the path.
  return status === 201 && location !== undefined
    ? `/-/uploads/${location.slice(location.lastIndexOf('/') + 1)}`
    : undefined;
}

async function cancelUpload(subject: PassageSubject, url: string): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  await requestService(subject, url, { method: 'DELETE', headers: TUS, signal }).catch(() => {
    // The service removes the upload when it expires.
  });
}

const CANCEL_TIMEOUT_MS = 10_000;

/** Milliseconds for a request after a 104 response on the same connection. */
const NEXT_REQUEST_TIMEOUT_MS = 3000;

/** Begins an upload that the service announces by a 104 response, and cancels it by a request on the same connection. */
async function checkInterimResponses(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const { Agent } = subject.url.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const begun = await requestService(subject, `/-/uploads?path=${encodeURIComponent(`${subject.probe}part.bin`)}`, {
      method: 'POST',
      headers: { 'upload-complete': '?0', 'upload-draft-interop-version': '8' },
      body: Buffer.alloc(0),
      agent,
      signal,
    });
    if (begun.envelope?.code === 'unknown-route') return notTried(NO_UPLOADS);
    const url = urlOfUpload(begun);
    if (url === undefined) return failed(`POST returned ${describeResponse(begun)}`, adviceOnParts(begun));
    const timeout = AbortSignal.timeout(NEXT_REQUEST_TIMEOUT_MS);
    try {
      await requestService(subject, url, { method: 'DELETE', agent, signal: AbortSignal.any([signal, timeout]) });
      return ok('104 responses, which announce the URL of an upload, leave the connection usable.');
    } catch (error) {
      await cancelUpload(subject, url);
      if (signal.aborted || !timeout.aborted) throw error;
      return warning(
        'After a 104 response, the proxy does not forward the next request on a connection: uploads by apps that use Resumable Uploads for HTTP stall.',
        'Remove a header of requests. nginx: proxy_set_header Upload-Draft-Interop-Version "";',
      );
    }
  } finally {
    agent.destroy();
  }
}

const NO_UPLOADS = 'The service has no resumable uploads, because it has no database.';

/** Returns advice for the largest size of a part that passes; 0 if none does. */
function adviceOnLimit(size: number): string {
  return size === 0 ? BODY_SIZE_ADVICE : `Set UPLOAD_CHUNK_SIZE=${formatSize(size, '')}, or: ${BODY_SIZE_ADVICE}`;
}

function adviceOnParts(response: Response): string {
  if (response.envelope?.code === 'unsupported-tus-version')
    return 'Forward all headers of requests, also Tus-Resumable and Upload-Offset.';
  if (response.status === 413 || response.envelope !== undefined) return adviceOnUpload(response);
  return 'Allow POST and PATCH below /-/uploads in the proxy and in a web application firewall, and forward Location, Tus-Resumable and all headers that begin with Upload-.';
}

/**
 * Milliseconds. If an operation takes longer and all its progress lines arrive at the end, a proxy has buffered them.
 */
const MIN_BUFFERED_MS = 500;

async function checkProgress(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const body = Buffer.from(
    JSON.stringify({ source: subject.probe + LARGE_FOLDER, destination: `${subject.probe}copied`, is_folder: true }),
  );
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' };
  const response = await requestService(subject, '/copy', { method: 'POST', headers, body, signal });
  const [first = 0] = response.arrivals;
  const last = response.arrivals.at(-1) ?? 0;
  if (!response.envelope?.success) {
    return failed(`A copy returned ${describeResponse(response)}`, adviceOnUpload(response));
  }
  if (last - first < 1 && first > MIN_BUFFERED_MS) {
    return warning(
      'All progress lines of a copy arrived at its end, so users see no progress.',
      'Stream responses. nginx: proxy_buffering off; Caddy: flush_interval -1. Apache: flushpackets=on.',
    );
  }
  return ok(
    last - first < 1
      ? 'A copy was too fast to detect whether progress lines are buffered.'
      : 'Progress lines arrive as they are written.',
  );
}
