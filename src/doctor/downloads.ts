import { setTimeout as delay } from 'node:timers/promises';
import { type Check, failed, notTried, ok, warning } from '../checks/check.ts';
import { HOSTILE_NAME, LARGE, LARGE_NAME, PLAIN_NAME, SMALL } from '../checks/probe.ts';
import { type Response, sendRequest } from '../checks/requests.ts';
import { childFile, parseFile } from '../model/path.ts';
import {
  adviceOnRefusal,
  describeResponse,
  explainAddress,
  PATHS_ADVICE,
  type PassageSubject,
  pathOf,
  requestService,
  TOKEN_ADVICE,
} from './address.ts';

/** Checks that downloads pass through the reverse proxy unchanged. */
export const FETCH_CHECKS: readonly Check<PassageSubject>[] = [
  {
    name: 'url-credential',
    needs: 'url-service',
    async run(subject, signal) {
      const response = await requestService(subject, '/', { headers: { accept: 'application/json' }, signal });
      if (response.status === 200)
        return ok(subject.token === undefined ? 'Anyone can list the root.' : 'The service accepts the token.');
      if (response.status === 401 && subject.token === undefined) {
        return {
          ...notTried(
            'The service requires authentication, and HOLDALL_TOKEN is not set: uploads and downloads through the proxy were not checked.',
          ),
          advice:
            'Create a token for a user with read, write and manage for "/" (npx holdall token new NAME), and run the doctor with HOLDALL_TOKEN=…',
        };
      }
      return failed(`The root returned ${describeResponse(response)}`, adviceOnRefusal(response));
    },
    explain: explainAddress,
  },
  {
    name: 'url-same-store',
    needs: 'url-credential',
    writes: true,
    async run(subject, signal) {
      const response = await untilSeen(subject, signal);
      if (response.status === 200 && response.body.equals(SMALL))
        return ok('Files written to the store can be fetched from the public URL.');
      if (response.status === 401 || response.status === 403)
        return failed(`A file of the probe returned ${describeResponse(response)}`, TOKEN_ADVICE);
      return failed(
        `The service can't find a file that was written to the store: ${describeResponse(response)}`,
        `Run the doctor with the settings, user and machine of the service (these settings name ${subject.opened.name}), or correct PUBLIC_URL.`,
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-names',
    needs: 'url-same-store',
    async run(subject, signal) {
      const response = await requestService(subject, pathOf('/file/', subject, HOSTILE_NAME), { signal });
      if (response.status !== 200 || !response.body.equals(SMALL)) {
        return failed(`A name with spaces, "+", "%2F" and "%25" returned ${describeResponse(response)}`, PATHS_ADVICE);
      }
      const doubled = await requestService(subject, `/file/${subject.probe}/${PLAIN_NAME}`, { signal });
      if (doubled.status !== 400) return failed('The proxy merged "//" in a path into "/".', PATHS_ADVICE);
      return ok('Paths arrive unchanged, including spaces, "+", "%2F", "%25" and "//".');
    },
    explain: explainAddress,
  },
  {
    name: 'url-range',
    needs: 'url-same-store',
    async run(subject, signal) {
      const path = pathOf('/file/', subject, PLAIN_NAME);
      const part = await requestService(subject, path, {
        headers: { range: 'bytes=100-199', 'accept-encoding': 'gzip' },
        signal,
      });
      if (part.status !== 206 || !part.body.equals(SMALL.subarray(100, 200))) {
        return failed(
          `A request for a range of 100 bytes returned ${part.body.length} bytes with the status ${part.status}.`,
          'Forward Range, and disable caching and compression for /file/ (nginx: proxy_cache off; gzip off;).',
        );
      }
      const whole = await requestService(subject, path, { headers: { 'accept-encoding': 'gzip' }, signal });
      const entry = await subject.store.stat(childFile(subject.probe, PLAIN_NAME), { signal });
      if (whole.headers['content-encoding'] === undefined && whole.headers.etag === `"${entry.etag}"`) {
        return ok('Files and ranges arrive unchanged, with their ETags.');
      }
      return warning(
        "The proxy compresses files or changes their ETags: downloads have no length and can't be resumed, and conditional requests fail.",
        'Disable compression for /file/. nginx: gzip off; Caddy: no encode for /file/*.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-redirect',
    needs: 'url-same-store',
    timeout: 60_000,
    async run(subject, signal) {
      if (!(await isStored(subject, LARGE_NAME, signal))) return notTried('Requires store-large.');
      const response = await requestService(subject, pathOf('/file/', subject, LARGE_NAME), { signal });
      const { location } = response.headers;
      if (response.status !== 302 || location === undefined) {
        return failed(
          `A file of 9 MiB returned ${describeResponse(response)} instead of a redirect.`,
          'Let the proxy return redirects instead of following them. nginx: no proxy_intercept_errors, and no error_page for 302.',
        );
      }
      const target = new URL(location, `${subject.url}${pathOf('/file/', subject, LARGE_NAME)}`);
      const part = await sendRequest(target.origin, target.pathname + target.search, {
        headers: { range: 'bytes=6000000-6000099' },
        signal,
      });
      if (part.status === 206 && part.body.equals(LARGE.subarray(6_000_000, 6_000_100)))
        return ok(`A file of 9 MiB is redirected to ${target.origin}.`);
      return failed(
        `The redirect of a file of 9 MiB leads to ${target.origin}, which returned ${describeResponse(part)}.`,
        adviceOnRedirect(part, subject.opened.contentOrigins.includes(target.origin)),
      );
    },
    explain: () =>
      'This machine and all users must reach the target of the redirect. Check S3_ENDPOINT, CONTENT_ORIGIN and PUBLIC_URL.',
  },
  {
    name: 'url-client-address',
    needs: 'url-service',
    concerns: ({ config }) => config.ACCESS_FILE !== undefined,
    async run(subject, signal) {
      const credentials = Buffer.from('holdall-doctor:wrong').toString('base64');
      const response = await requestService({ ...subject, token: undefined }, '/', {
        headers: { authorization: `Basic ${credentials}`, accept: 'application/json' },
        signal,
      });
      if (response.status !== 403)
        return ok('The proxy reports HTTPS to the service, or requests come from this machine.');
      return failed(
        `A request with a password returned ${describeResponse(response)}`,
        'Set TRUST_PROXY to the address of the proxy (loopback for this machine), and send X-Forwarded-For and X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme;).',
      );
    },
    explain: explainAddress,
  },
];

function adviceOnRedirect({ status, envelope }: Response, isOfStore: boolean): string {
  if (isOfStore)
    return 'See bucket-presigned, and check that no proxy in front of the store changes Host, path or query.';
  if (status === 403 && envelope)
    return 'Set the same SIGNING_KEY on all machines, or check whether the proxy changes the path or the query.';
  return 'Forward Location unchanged (nginx: proxy_redirect off;) and /-/signed/, and check CONTENT_ORIGIN.';
}

/**
 * Fetches a file that was just written. Retries while another process might not see it yet.
 */
async function untilSeen(subject: PassageSubject, signal: AbortSignal): Promise<Response> {
  const { maxStalenessSeconds } = subject.opened;
  const seconds = maxStalenessSeconds === undefined ? 0 : maxStalenessSeconds + 1;
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const response = await requestService(subject, pathOf('/file/', subject, PLAIN_NAME), { signal });
    if (response.status !== 404 || performance.now() >= deadline) return response;
    await delay(250, undefined, { signal });
  }
}

async function isStored({ store, probe }: PassageSubject, name: string, signal: AbortSignal): Promise<boolean> {
  return store.stat(parseFile(probe + name), { signal }).then(
    () => true,
    () => false,
  );
}
