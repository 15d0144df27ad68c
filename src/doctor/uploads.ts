import { type Check, type Finding, failed, notTried, ok, warning } from '../checks/check.ts';
import { LARGE_FOLDER, probeBytes, SMALL } from '../checks/probe.ts';
import { type Response, uploadForm } from '../checks/requests.ts';
import { adviceOnRefusal, call, explainAddress, PATHS, type PassageSubject, pathOf, sayAnswer } from './address.ts';

const UPLOADED = 'up a+b%2F é.txt';

/** Checks that uploads and all other changes pass through the reverse proxy unchanged. */
export const UPLOAD_CHECKS: readonly Check<PassageSubject>[] = [
  {
    name: 'url-upload',
    needs: 'url-same-store',
    writes: true,
    async run(subject, signal) {
      const answer = await upload(subject, UPLOADED, SMALL, signal);
      if (answer.status !== 200)
        return failed(`An upload of 4 KiB is answered with ${sayAnswer(answer)}`, adviceOnUpload(answer));
      // Reads through the service, because only the service sees its own commit at once.
      const { body } = await call(subject, pathOf('/file/', subject, UPLOADED), { signal });
      if (body.equals(SMALL)) return ok('Uploaded a file of 4 KiB, and fetched the same bytes.');
      return failed('A file of 4 KiB was uploaded, and fetched with other bytes.', PATHS);
    },
    explain: explainAddress,
  },
  {
    name: 'url-body-size',
    needs: 'url-upload',
    writes: true,
    timeout: 120_000,
    async run(subject, signal) {
      const most = subject.config.MAX_UPLOAD_SIZE ?? Number.POSITIVE_INFINITY;
      for (const mebibytes of [1, 12].filter((size) => size * 2 ** 20 <= most)) {
        const answer = await upload(subject, 'uploaded.txt', probeBytes(mebibytes * 2 ** 20), signal).catch(
          (error: unknown) => {
            signal.throwIfAborted();
            return error instanceof Error ? error : new Error(String(error));
          },
        );
        if (answer instanceof Error)
          return failed(`An upload of ${mebibytes} MiB was cut off: ${answer.message}`, BODY_SIZE);
        if (answer.status !== 200) {
          return failed(`An upload of ${mebibytes} MiB is answered with ${sayAnswer(answer)}.`, adviceOnUpload(answer));
        }
      }
      return ok('Uploaded 1 MiB and 12 MiB, as far as MAX_UPLOAD_SIZE allows.');
    },
    explain: () => BODY_SIZE,
  },
  {
    name: 'url-upload-buffering',
    needs: 'url-upload',
    async run(subject, signal) {
      const isEarly = await answersEarly(subject, signal);
      if (isEarly === undefined) return notTried(APACHE);
      if (isEarly) return ok('Uploads come to the service as they are sent.');
      return warning(
        'The proxy keeps uploads until it has all of them: they take twice as long, and room on its disk, and their progress is made up.',
        'Have it pass on what comes: in nginx proxy_request_buffering off;',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-progress',
    needs: 'url-same-store',
    writes: true,
    timeout: 60_000,
    run: lookAtProgress,
    explain: explainAddress,
  },
  {
    name: 'url-methods',
    needs: 'url-upload',
    writes: true,
    async run(subject, signal) {
      const file = pathOf('/file/', subject, UPLOADED);
      const tried = [
        [
          'HEAD',
          await call(subject, file, { method: 'HEAD', signal }),
          ({ status, headers }: Response) => status === 200 && headers['content-length'] === '4096',
        ],
        [
          'OPTIONS',
          await call(subject, '/upload', { method: 'OPTIONS', signal }),
          ({ status, headers }: Response) => status === 204 && headers.allow !== undefined,
        ],
        [
          'DELETE',
          await call(subject, pathOf('/delete/', subject, UPLOADED), { method: 'DELETE', signal }),
          ({ status }: Response) => status === 200,
        ],
      ] as const;
      const refused = tried.filter(([, answer, isRight]) => !isRight(answer));
      if (refused.length === 0) return ok('GET, HEAD, OPTIONS, POST and DELETE pass.');
      const said = refused.map(([method, answer]) => `${method} is answered with ${sayAnswer(answer)}`).join('; ');
      return failed(
        said,
        'Let the proxy, or a firewall for web applications before it, pass GET, HEAD, OPTIONS, POST and DELETE; and the person of the token manage "/".',
      );
    },
    explain: explainAddress,
  },
];

const APACHE =
  'Apache answers an upload after its end, even if it passes on what comes: this can not be told from here. It keeps uploads only if proxy-sendcl is set, or a module such as mod_security reads them.';

const BODY_SIZE =
  'Raise the limit of the proxy for bodies: in nginx client_max_body_size 0; in its server; in Apache LimitRequestBody 0; Cloudflare has one of 100 MB; Traefik one where it has the buffering middleware. Time-outs for bodies likewise.';

function adviceOnUpload(answer: Response): string {
  if (answer.status !== 413) return adviceOnRefusal(answer);
  return answer.envelope === undefined ? BODY_SIZE : 'Raise MAX_UPLOAD_SIZE.';
}

function upload(subject: PassageSubject, name: string, bytes: Buffer, signal: AbortSignal): Promise<Response> {
  const { type, body } = uploadForm(subject.probe, name, bytes);
  return call(subject, '/upload', { method: 'POST', headers: { 'content-type': type }, body, signal });
}

/** Time limit of an early response: the minimum in milliseconds, and a multiple of the time of a complete request. */
const EARLY = { least: 2000, times: 20 };

/**
 * Returns whether an upload that is never completed gets a response: the service refuses a cross-site upload as soon as
 * it has the headers. Nothing is stored. Returns undefined behind Apache, which sends the whole body to the service
 * before it reads the response.
 */
async function answersEarly(subject: PassageSubject, signal: AbortSignal): Promise<boolean | undefined> {
  const { type, body } = uploadForm('', '', Buffer.alloc(0));
  const refused = { method: 'POST', headers: { 'content-type': type, 'sec-fetch-site': 'cross-site' } };
  const began = performance.now();
  const { headers } = await call(subject, '/upload', { ...refused, body, signal });
  if (/^Apache\b/i.test(String(headers.server ?? ''))) return undefined;
  const patience = Math.max(EARLY.least, Math.ceil(EARLY.times * (performance.now() - began)));
  const late = AbortSignal.timeout(patience);
  try {
    await call(subject, '/upload', { ...refused, body, length: 100_000, signal: AbortSignal.any([signal, late]) });
    return true;
  } catch (error) {
    if (late.aborted && !signal.aborted) return false;
    throw error;
  }
}

/**
 * Milliseconds. If an operation takes longer and all its progress lines arrive at the end, a proxy has buffered them.
 */
const LONG = 500;

async function lookAtProgress(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const body = Buffer.from(
    JSON.stringify({ source: subject.probe + LARGE_FOLDER, destination: `${subject.probe}copied`, is_folder: true }),
  );
  const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' };
  const answer = await call(subject, '/copy', { method: 'POST', headers, body, signal });
  const [first = 0] = answer.arrivals;
  const last = answer.arrivals.at(-1) ?? 0;
  if (!answer.envelope?.success) {
    return failed(`A copy is answered with ${sayAnswer(answer)}`, adviceOnUpload(answer));
  }
  if (last - first < 1 && first > LONG) {
    return warning(
      'The lines of progress of a copy came all at once, at its end: people see no progress.',
      'Have the proxy hand on what comes: in nginx proxy_buffering off; in Caddy flush_interval -1; in Apache flushpackets=on.',
    );
  }
  return ok(
    last - first < 1
      ? 'A copy was too quick to tell whether lines of progress are held back.'
      : 'Lines of progress come as they are written.',
  );
}
