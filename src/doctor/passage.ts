import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { childFile, parseFile } from '../domain/path.ts';
import { escapePath } from '../stores/s3/keys.ts';
import { type AddressSubject, call, explainAddress, sayAnswer } from './address.ts';
import { type Answer, ask, uploadForm } from './asking.ts';
import { type Check, type Finding, failed, notTried, ok, warning } from './check.ts';
import { HOSTILE_NAME, probeBytes, readProbe } from './probe.ts';
import { LARGE, LARGE_FOLDER, LARGE_NAME, PLAIN_NAME, SMALL, type StoreSubject } from './store.ts';

/** The service at its address, and the store with the probe. */
export type PassageSubject = AddressSubject & StoreSubject;

const UPLOADED = 'up a+b%2F é.txt';

const pathOf = (route: string, { probe }: PassageSubject, name: string) => `${route}${escapePath(probe + name)}`;

/** Whether files pass what is before the service as they are, in both directions. */
export const PASSAGE_CHECKS: readonly Check<PassageSubject>[] = [
  {
    name: 'url-credential',
    needs: 'url-service',
    async run(subject, signal) {
      const answer = await call(subject, '/', { headers: { accept: 'application/json' }, signal });
      if (answer.status === 200)
        return ok(subject.token === undefined ? 'The root is listed to everybody.' : 'The service takes the token.');
      if (answer.status === 401 && subject.token === undefined) {
        return {
          ...notTried(
            'The service wants to know who asks, and HOLDALL_TOKEN is not set: how files pass the proxy is not looked at.',
          ),
          advice:
            'Make a token (npx holdall token new), put its entry into ACCESS_FILE for a person who may read, write and manage in "/", and run this with HOLDALL_TOKEN=…',
        };
      }
      return failed(`The root is answered with ${sayAnswer(answer)}`, ADVICE_ON_TOKEN);
    },
    explain: explainAddress,
  },
  {
    name: 'url-same-store',
    needs: 'url-credential',
    writes: true,
    async run(subject, signal) {
      const answer = await untilSeen(subject, signal);
      if (answer.status === 200 && answer.body.equals(SMALL))
        return ok('What is written to the store is fetched by the address.');
      if (answer.status === 401 || answer.status === 403)
        return failed(`A file of the probe is answered with ${sayAnswer(answer)}`, ADVICE_ON_TOKEN);
      return failed(
        `What was written to the store is not there for the service: ${sayAnswer(answer)}`,
        `Run this with the settings of the service (its .env, its user, its machine): they name ${subject.opened.name}; or correct PUBLIC_URL.`,
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-names',
    needs: 'url-same-store',
    async run(subject, signal) {
      const answer = await call(subject, pathOf('/file/', subject, HOSTILE_NAME), { signal });
      if (answer.status !== 200 || !answer.body.equals(SMALL)) {
        return failed(`A name with spaces, "+", "%2F" and "%25" is answered with ${sayAnswer(answer)}`, PATHS);
      }
      const doubled = await call(subject, `/file/${subject.probe}/${PLAIN_NAME}`, { signal });
      if (doubled.status !== 400) return failed('A path with "//" came to the service with a single "/".', PATHS);
      return ok('Paths pass as they are: spaces, "+", "%2F", "%25", "//" and characters of all kinds.');
    },
    explain: explainAddress,
  },
  {
    name: 'url-range',
    needs: 'url-same-store',
    async run(subject, signal) {
      const path = pathOf('/file/', subject, PLAIN_NAME);
      const part = await call(subject, path, {
        headers: { range: 'bytes=100-199', 'accept-encoding': 'gzip' },
        signal,
      });
      if (part.status !== 206 || !part.body.equals(SMALL.subarray(100, 200))) {
        return failed(
          `A range of 100 bytes came as ${part.body.length} bytes with the status ${part.status}.`,
          'Let the proxy pass Range on, and cache or compress nothing of /file/ (nginx: proxy_cache off; gzip off;).',
        );
      }
      const whole = await call(subject, path, { headers: { 'accept-encoding': 'gzip' }, signal });
      const entry = await subject.store.stat(childFile(subject.probe, PLAIN_NAME), { signal });
      if (whole.headers['content-encoding'] === undefined && whole.headers.etag === `"${entry.etag}"`) {
        return ok('Files and ranges of them come as they are, with their etags.');
      }
      return warning(
        'The proxy compresses files or changes their etags: downloads go without a length, can’t be gone on with, and conditions fail.',
        'Have the proxy leave /file/ as it is: in nginx gzip off; in Caddy no encode for /file/*.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-upload',
    needs: 'url-same-store',
    writes: true,
    async run(subject, signal) {
      const answer = await upload(subject, UPLOADED, SMALL, signal);
      if (answer.status !== 200)
        return failed(`An upload of 4 KiB is answered with ${sayAnswer(answer)}`, adviceOnUpload(answer));
      if (SMALL.equals(await readProbe(subject, UPLOADED, { signal }))) return ok('Uploaded a file of 4 KiB.');
      return failed('A file was uploaded, and has other bytes in the store.', PATHS);
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
          return failed(
            `An upload of ${mebibytes} MiB is answered with ${sayAnswer(answer)}.`,
            answer.status === 413 ? BODY_SIZE : adviceOnUpload(answer),
          );
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
      if (await answersEarly(subject, signal)) return ok('Uploads come to the service as they are sent.');
      return warning(
        'The proxy keeps uploads until it has all of them: they take twice as long, and room on its disk, and their progress is made up.',
        'Have it pass on what comes: in nginx proxy_request_buffering off;',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-redirect',
    needs: 'url-same-store',
    timeout: 60_000,
    async run(subject, signal) {
      if (!(await isStored(subject, LARGE_NAME, signal))) return notTried('It needs store-large.');
      const answer = await call(subject, pathOf('/file/', subject, LARGE_NAME), { signal });
      const { location } = answer.headers;
      if (answer.status !== 302 || location === undefined) {
        return failed(
          `A file of 9 MiB is answered with ${sayAnswer(answer)}, and not with a redirect.`,
          'Let the proxy hand redirects on and not follow them: in nginx, no proxy_intercept_errors, and no error_page for 302.',
        );
      }
      const target = new URL(location, `${subject.url}${pathOf('/file/', subject, LARGE_NAME)}`);
      const part = await ask(target.origin, target.pathname + target.search, {
        headers: { range: 'bytes=6000000-6000099' },
        signal,
      });
      if (part.status === 206 && part.body.equals(LARGE.subarray(6_000_000, 6_000_100)))
        return ok(`A file of 9 MiB comes by a redirect to ${target.origin}.`);
      return failed(
        `The redirect of a file of 9 MiB leads to ${target.origin}, which answers with ${part.status}.`,
        subject.opened.contentOrigins.includes(target.origin)
          ? 'See what bucket-presigned says, and that nothing before the store changes Host, path or query.'
          : 'Have the proxy leave Location as it is (nginx: proxy_redirect off;), and pass /-/signed/ on; look at CONTENT_ORIGIN.',
      );
    },
    explain: () =>
      'The address that the redirect leads to has to be reached from here, and from wherever people are: look at S3_ENDPOINT, CONTENT_ORIGIN and PUBLIC_URL.',
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
          ({ status, headers }: Answer) => status === 200 && headers['content-length'] === '4096',
        ],
        [
          'OPTIONS',
          await call(subject, '/upload', { method: 'OPTIONS', signal }),
          ({ status, headers }: Answer) => status === 204 && headers.allow !== undefined,
        ],
        [
          'DELETE',
          await call(subject, pathOf('/delete/', subject, UPLOADED), { method: 'DELETE', signal }),
          ({ status }: Answer) => status === 200,
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
  {
    name: 'url-client-address',
    needs: 'url-service',
    concerns: ({ config }) => config.ACCESS_FILE !== undefined,
    async run({ token: _, ...anonymous }, signal) {
      const credentials = Buffer.from('holdall-doctor:wrong').toString('base64');
      const answer = await call({ ...anonymous, token: undefined }, '/', {
        headers: { authorization: `Basic ${credentials}`, accept: 'application/json' },
        signal,
      });
      if (answer.status !== 403) return ok('The service is told from where, and by HTTPS, requests come.');
      return failed(
        `A password is answered with ${sayAnswer(answer)}`,
        'Set TRUST_PROXY to the address of the proxy (loopback for one on this machine), and have it send X-Forwarded-For and X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme;).',
      );
    },
    explain: explainAddress,
  },
];

const ADVICE_ON_TOKEN =
  'Look at the token in HOLDALL_TOKEN, and at its entry in ACCESS_FILE: whether it has expired, and whether its person may read, write and manage in "/" (npx holdall access explain NAME upload /).';

const PATHS =
  'Have the proxy pass paths on as they are: in nginx proxy_pass with nothing behind the port, not even a "/"; and no rewrite that decodes them.';

const BODY_SIZE =
  'Raise the limit of the proxy for bodies: in nginx client_max_body_size 0; in its server; Cloudflare has one of 100 MB; Traefik one where it has the buffering middleware. Time-outs for bodies likewise.';

function adviceOnUpload({ status, envelope }: Answer): string {
  if (status === 413) return envelope === undefined ? BODY_SIZE : 'Raise MAX_UPLOAD_SIZE.';
  if (status === 401 || status === 403)
    return envelope === undefined ? 'Let the proxy pass POST /upload.' : ADVICE_ON_TOKEN;
  return 'Look for the answer in the log of the proxy and, by its X-Request-Id, in that of the service.';
}

function upload(subject: PassageSubject, name: string, bytes: Buffer, signal: AbortSignal): Promise<Answer> {
  const { type, body } = uploadForm(subject.probe, name, bytes);
  return call(subject, '/upload', { method: 'POST', headers: { 'content-type': type }, body, signal });
}

/** Milliseconds beyond `GITHUB_TRUST` until the service sees what somebody else has written. */
const SEEN_WITHIN = 3000;

/** Fetches a file that was just written, until the service sees it or should have. */
async function untilSeen(subject: PassageSubject, signal: AbortSignal): Promise<Answer> {
  const trust = subject.config.STORAGE_TYPE === 'github' ? subject.config.GITHUB_TRUST * 1000 : 0;
  const deadline = performance.now() + trust + SEEN_WITHIN;
  for (;;) {
    const answer = await call(subject, pathOf('/file/', subject, PLAIN_NAME), { signal });
    if (answer.status !== 404 || performance.now() > deadline) return answer;
    await delay(250, undefined, { signal });
  }
}

async function isStored({ store, probe }: PassageSubject, name: string, signal: AbortSignal): Promise<boolean> {
  return store.stat(parseFile(probe + name), { signal }).then(
    () => true,
    () => false,
  );
}

/** Milliseconds within which an answer comes that does not wait for a body. */
const EARLY = 3000;

/**
 * Whether an upload is answered that is never sent to its end: one that a foreign site seems to send is refused as soon as
 * its head is there. Nothing is stored of it.
 */
async function answersEarly({ url, token }: PassageSubject, signal: AbortSignal): Promise<boolean> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  const sent = request(`${url}/upload`, {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      'content-type': uploadForm('', '', Buffer.alloc(0)).type,
      'content-length': '100000',
      'sec-fetch-site': 'cross-site',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  sent.once('response', () => resolve(true));
  sent.on('error', reject);
  sent.flushHeaders();
  const late = new AbortController();
  try {
    return await Promise.race([promise, delay(EARLY, false, { signal: late.signal })]);
  } finally {
    late.abort();
    sent.destroy();
  }
}

/** Milliseconds of work after which lines that all come at its end were held back. */
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
      'Have the proxy hand on what comes: in nginx proxy_buffering off; in Caddy flush_interval -1.',
    );
  }
  return ok(
    last - first < 1
      ? 'A copy was too quick to tell whether lines of progress are held back.'
      : 'Lines of progress come as they are written.',
  );
}
