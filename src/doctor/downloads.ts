import { setTimeout as delay } from 'node:timers/promises';
import { type Check, failed, notTried, ok, warning } from '../checks/check.ts';
import { HOSTILE_NAME, LARGE, LARGE_NAME, PLAIN_NAME, SMALL } from '../checks/probe.ts';
import { type Response, sendRequest } from '../checks/requests.ts';
import { childFile, parseFile } from '../model/path.ts';
import {
  ADVICE_ON_TOKEN,
  adviceOnRefusal,
  call,
  explainAddress,
  PATHS,
  type PassageSubject,
  pathOf,
  sayAnswer,
} from './address.ts';

/** Checks that downloads pass through the reverse proxy unchanged. */
export const FETCH_CHECKS: readonly Check<PassageSubject>[] = [
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
      return failed(`The root is answered with ${sayAnswer(answer)}`, adviceOnRefusal(answer));
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
      const part = await sendRequest(target.origin, target.pathname + target.search, {
        headers: { range: 'bytes=6000000-6000099' },
        signal,
      });
      if (part.status === 206 && part.body.equals(LARGE.subarray(6_000_000, 6_000_100)))
        return ok(`A file of 9 MiB comes by a redirect to ${target.origin}.`);
      return failed(
        `The redirect of a file of 9 MiB leads to ${target.origin}, which answers with ${sayAnswer(part)}.`,
        adviceOnRedirect(part, subject.opened.contentOrigins.includes(target.origin)),
      );
    },
    explain: () =>
      'The address that the redirect leads to has to be reached from here, and from wherever people are: look at S3_ENDPOINT, CONTENT_ORIGIN and PUBLIC_URL.',
  },
  {
    name: 'url-client-address',
    needs: 'url-service',
    concerns: ({ config }) => config.ACCESS_FILE !== undefined,
    async run(subject, signal) {
      const credentials = Buffer.from('holdall-doctor:wrong').toString('base64');
      const answer = await call({ ...subject, token: undefined }, '/', {
        headers: { authorization: `Basic ${credentials}`, accept: 'application/json' },
        signal,
      });
      if (answer.status !== 403)
        return ok('The service is told by the proxy that requests come by HTTPS, or they come from this machine.');
      return failed(
        `A password is answered with ${sayAnswer(answer)}`,
        'Set TRUST_PROXY to the address of the proxy (loopback for one on this machine), and have it send X-Forwarded-For and X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme;).',
      );
    },
    explain: explainAddress,
  },
];

function adviceOnRedirect({ status, envelope }: Response, isOfStore: boolean): string {
  if (isOfStore)
    return 'See what bucket-presigned says, and that nothing before the store changes Host, path or query.';
  if (status === 403 && envelope)
    return 'Give all replicas the same SIGNING_KEY: one signs what another does not take. Or the proxy changes the path or the query.';
  return 'Have the proxy leave Location as it is (nginx: proxy_redirect off;), and pass /-/signed/ on; look at CONTENT_ORIGIN.';
}

/**
 * Fetches a file that was just written. Retries while another process may not see it yet.
 */
async function untilSeen(subject: PassageSubject, signal: AbortSignal): Promise<Response> {
  const { maxStalenessSeconds } = subject.opened;
  const seconds = maxStalenessSeconds === undefined ? 0 : maxStalenessSeconds + 1;
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await call(subject, pathOf('/file/', subject, PLAIN_NAME), { signal });
    if (answer.status !== 404 || performance.now() >= deadline) return answer;
    await delay(250, undefined, { signal });
  }
}

async function isStored({ store, probe }: PassageSubject, name: string, signal: AbortSignal): Promise<boolean> {
  return store.stat(parseFile(probe + name), { signal }).then(
    () => true,
    () => false,
  );
}
