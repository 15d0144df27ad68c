import type { BucketStage } from './bucket-stage.ts';
import { entriesFolder, largeBytes, largeKey, smallKey } from './bucket-stage.ts';
import type { Comparison, Contender } from './comparison.ts';
import type { Meter } from './measure.ts';
import { measureServer, measureTime, settle } from './measure.ts';
import type { Duration, ReadTarget } from './reading.ts';
import { checkListing, measureReading } from './reading.ts';
import { send } from './requests.ts';
import { startServer } from './servers.ts';

/** Compares downloads and listings through the service with the bucket itself, which is the limit. */
export function bucketReadComparisons(stage: BucketStage, duration: Duration): Comparison[] {
  const { bucket } = stage;
  const getSmall: ReadRequest = {
    path: `/file/${smallKey}`,
    presign: () => bucket.presignObject(smallKey),
    check: async ({ body }) => {
      if (!body.equals(stage.smallObject)) throw new Error(`not the 4 KiB of ${smallKey}`);
      return '';
    },
  };
  const list: ReadRequest = {
    path: `/${entriesFolder}`,
    presign: () => bucket.presignList(entriesFolder),
    check: async (response) => checkListing(response),
  };
  return [
    { id: 'get-4KiB', title: 'GET 4 KiB', request: getSmall },
    { id: 'list-1000', title: 'List 1,000 entries', request: list },
  ].map(({ id, title, request }) => ({
    id,
    title,
    unit: 'requests/s',
    reference: direct,
    programs: ['wrk'],
    contenders: [serviceContender(request, stage, duration), directContender(request, stage, duration)],
  }));
}

/** Measures redirects to the bucket for an object of 6 MiB, which the service does not transfer itself. */
export function redirectComparison(stage: BucketStage, duration: Duration): Comparison {
  const redirect: ServiceRequest = {
    path: `/file/${largeKey}`,
    status: 302,
    check: async ({ headers: { location = '' } }) => {
      const host = new URL(stage.bucket.store.account.endpoint).hostname;
      const { status, body } = await send({ url: new URL(location), host }, new AbortController().signal);
      if (status !== 200 || body.length !== largeBytes) throw new Error(`${location}: ${status}, ${body.length} bytes`);
      return '';
    },
  };
  return {
    id: 'redirect',
    title: 'Redirect for an object of 6 MiB',
    unit: 'requests/s',
    reference: 'holdall',
    programs: ['wrk'],
    contenders: [serviceContender(redirect, stage, duration)],
  };
}

const direct = 'the bucket itself';

interface ServiceRequest extends Pick<ReadTarget, 'check' | 'status'> {
  readonly path: string;
}

interface ReadRequest extends ServiceRequest {
  /** The same request, sent to the bucket. */
  presign(): Promise<URL>;
}

function serviceContender({ path, ...requested }: ServiceRequest, stage: BucketStage, duration: Duration): Contender {
  return {
    name: 'holdall',
    measure: async (signal) => {
      await using running = await startServer(stage.holdall(), stage.newSite(), signal);
      const target = { ...requested, url: running.url(path), headers: {} };
      const meter: Meter = async (work) => {
        // Requests of the warm-up were still in progress at its end.
        await settle(running.pid, signal);
        return await stage.bucket.store.metered(() => measureServer(running.pid, work));
      };
      return await measureReading(target, duration, meter, signal);
    },
  };
}

function directContender({ presign, check }: ReadRequest, stage: BucketStage, duration: Duration): Contender {
  return {
    name: direct,
    measure: async (signal) => {
      const { store } = stage.bucket;
      const url = await presign();
      const target = { url, host: new URL(store.account.endpoint).hostname, headers: {}, check };
      return await measureReading(target, duration, (work) => store.metered(() => measureTime(work)), signal);
    },
  };
}
