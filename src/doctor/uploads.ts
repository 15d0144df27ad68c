import { type Check, type Finding, failed, notTried, ok, warning } from '../checks/check.ts';
import { LARGE_FOLDER, probeBytes, SMALL } from '../checks/probe.ts';
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
    writes: true,
    timeout: 120_000,
    async run(subject, signal) {
      const maxSize = subject.config.MAX_UPLOAD_SIZE ?? Number.POSITIVE_INFINITY;
      for (const mebibytes of [1, 12].filter((size) => size * 2 ** 20 <= maxSize)) {
        const response = await upload(subject, 'uploaded.txt', probeBytes(mebibytes * 2 ** 20), signal).catch(
          (error: unknown) => {
            signal.throwIfAborted();
            return error instanceof Error ? error : new Error(String(error));
          },
        );
        if (response instanceof Error)
          return failed(`An upload of ${mebibytes} MiB was interrupted: ${response.message}`, BODY_SIZE_ADVICE);
        if (response.status !== 200) {
          return failed(
            `An upload of ${mebibytes} MiB returned ${describeResponse(response)}.`,
            adviceOnUpload(response),
          );
        }
      }
      return ok('Uploaded 1 MiB and 12 MiB, as MAX_UPLOAD_SIZE allows.');
    },
    explain: () => BODY_SIZE_ADVICE,
  },
  {
    name: 'url-upload-buffering',
    needs: 'url-upload',
    async run(subject, signal) {
      const isEarly = await respondsEarly(subject, signal);
      if (isEarly === undefined) return notTried(APACHE_NOTE);
      if (isEarly) return ok('The proxy streams uploads to the service.');
      return warning(
        'The proxy buffers uploads: they take twice as long, use its disk, and their progress in the web UI is wrong.',
        'Stream uploads. nginx: proxy_request_buffering off;',
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
          'DELETE',
          await requestService(subject, `${pathOf('/delete/', subject, UPLOADED)}?permanent=true`, {
            method: 'DELETE',
            signal,
          }),
          ({ status }: Response) => status === 200,
        ],
      ] as const;
      const failures = methods.filter(([, response, isRight]) => !isRight(response));
      if (failures.length === 0) return ok('GET, HEAD, OPTIONS, POST and DELETE pass.');
      const found = failures.map(([method, response]) => `${method} returned ${describeResponse(response)}`).join('; ');
      return failed(
        found,
        'Allow GET, HEAD, OPTIONS, POST and DELETE in the proxy and in a web application firewall, and grant the user of the token manage for "/".',
      );
    },
    explain: explainAddress,
  },
];

const APACHE_NOTE =
  "Apache responds only after the end of an upload, so buffering can't be detected. It buffers uploads only with proxy-sendcl or a module such as mod_security.";

const BODY_SIZE_ADVICE =
  'Raise the body size limit and timeouts of the proxy. nginx: client_max_body_size 0; in its server. Apache: LimitRequestBody 0. Cloudflare allows 100 MB; Traefik has a limit with the buffering middleware.';

function adviceOnUpload(response: Response): string {
  if (response.status !== 413) return adviceOnRefusal(response);
  return response.envelope === undefined ? BODY_SIZE_ADVICE : 'Raise MAX_UPLOAD_SIZE.';
}

function upload(subject: PassageSubject, name: string, bytes: Buffer, signal: AbortSignal): Promise<Response> {
  const { type, body } = uploadForm(subject.probe, name, bytes);
  return requestService(subject, '/upload', { method: 'POST', headers: { 'content-type': type }, body, signal });
}

/** Timeout of an early response: a multiple of the time of a complete request, with a minimum in milliseconds. */
const EARLY_RESPONSE_FACTOR = 20;
const MIN_EARLY_RESPONSE_MS = 2000;

/**
 * Returns whether an upload that is never completed gets a response: the service refuses a cross-site upload as soon as
 * it has the headers. Nothing is stored. Returns undefined behind Apache, which sends the whole body to the service
 * before it reads the response.
 */
async function respondsEarly(subject: PassageSubject, signal: AbortSignal): Promise<boolean | undefined> {
  const { type, body } = uploadForm('', '', Buffer.alloc(0));
  const refused = { method: 'POST', headers: { 'content-type': type, 'sec-fetch-site': 'cross-site' } };
  const start = performance.now();
  const { headers } = await requestService(subject, '/upload', { ...refused, body, signal });
  if (/^Apache\b/i.test(String(headers.server ?? ''))) return undefined;
  const timeoutMs = Math.max(MIN_EARLY_RESPONSE_MS, Math.ceil(EARLY_RESPONSE_FACTOR * (performance.now() - start)));
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    await requestService(subject, '/upload', {
      ...refused,
      body,
      length: 100_000,
      signal: AbortSignal.any([signal, timeout]),
    });
    return true;
  } catch (error) {
    if (timeout.aborted && !signal.aborted) return false;
    throw error;
  }
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
