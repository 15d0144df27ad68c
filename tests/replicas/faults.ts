import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Interceptor, S3Request } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import type { BucketStage, CephStage } from './bucket-stage.ts';
import type { Fault } from './fault.ts';
import type { Replica } from './replicas.ts';
import type { Stage } from './stage.ts';

/** Restarts the replicas one by one as documented: nginx stops using each before it stops. */
const ROLLING_RESTART: Fault<Stage> = {
  name: 'rolling restart',
  lasts: false,
  isUnnoticed: true,
  async begin({ nginx, replicas }) {
    const addresses = replicas.map(({ address }) => address);
    for (const replica of replicas) {
      await nginx.use(addresses.filter((address) => address !== replica.address));
      const { code } = await replica.stop();
      assert.equal(code, 0);
      await replica.start();
      await nginx.use(addresses);
    }
  },
  end: async () => {},
};

/** Restarts the replicas one by one, without a change in nginx. */
export const STOPPED_UNTOLD: Fault<Stage> = {
  name: 'SIGTERM to each replica in turn, still listed in nginx',
  lasts: false,
  async begin({ replicas }) {
    for (const replica of replicas) {
      const { code } = await replica.stop();
      assert.equal(code, 0);
      await replica.start();
    }
  },
  end: async () => {},
};

/** Kills a replica: another one each time. */
function killed(): Fault<Stage> {
  let turn = 0;
  return {
    name: 'kill -9 of a replica',
    lasts: false,
    async begin({ replicas }) {
      await replicas[turn++ % replicas.length]?.kill();
    },
    end: restart,
  };
}

/** Kills the first replica that sends such a request to the bucket. */
function killedWhile(doing: string, isIt: (request: S3Request) => boolean): Fault<BucketStage> {
  return {
    name: `kill -9 of a replica during ${doing}`,
    lasts: false,
    async begin({ replicas, links }) {
      let victim: Replica | undefined;
      const isKilled = Promise.withResolvers<'cut'>();
      for (const [index, link] of links.entries()) {
        link.intercept((request) => {
          if (!isIt(request) || (victim && victim !== replicas[index])) return undefined;
          victim = replicas[index];
          return isKilled.promise;
        });
      }
      await (await until(`there are ${doing}`, () => victim)).kill();
      isKilled.resolve('cut');
      interceptAll(links, undefined);
    },
    end: restart,
  };
}

async function restart({ replicas }: Stage): Promise<void> {
  for (const replica of replicas) if (!replica.isRunning()) await replica.start();
}

const GATEWAY_KILLED: Fault<CephStage> = {
  name: 'store process killed and restarted',
  lasts: true,
  begin: ({ ceph }) => ceph.killGateway(),
  end: ({ ceph }) => ceph.startGateway(),
};

const NETWORK_CUT: Fault<BucketStage> = {
  name: 'network to the bucket cut, connections reset',
  lasts: true,
  begin: async ({ links }) => interceptAll(links, () => 'cut'),
  end: async ({ links }) => interceptAll(links, undefined),
};

const NETWORK_CUT_FOR_ONE: Fault<BucketStage> = {
  name: 'network to the bucket cut for one replica',
  lasts: true,
  begin: async ({ links }) => links[0]?.intercept(() => 'cut'),
  end: async ({ links }) => interceptAll(links, undefined),
};

/** Holds all requests without a response until the end of the fault. */
function silent(): Fault<BucketStage> {
  let isBack = Promise.withResolvers<undefined>();
  return {
    name: 'network to the bucket hangs: no response, no reset',
    lasts: true,
    async begin({ links }) {
      isBack = Promise.withResolvers<undefined>();
      let held = 0;
      interceptAll(links, () => {
        held++;
        return isBack.promise;
      });
      await until('requests are held', () => held > 3);
    },
    async end({ links }) {
      interceptAll(links, undefined);
      isBack.resolve(undefined);
    },
  };
}

const NETWORK_SLOW: Fault<BucketStage> = {
  name: 'network to the bucket slower by 0.2 to 0.4 seconds per request',
  lasts: true,
  isUnnoticed: true,
  begin: async ({ links }) => interceptAll(links, () => delay(200 + Math.random() * 200, undefined)),
  end: async ({ links }) => interceptAll(links, undefined),
};

/** Seconds. Object stores tolerate a difference of 15 minutes. */
const HOUR = 3600;

const CLOCK_SKEWED: Fault<BucketStage> = {
  name: 'clock of one replica one hour ahead',
  lasts: true,
  isUnnoticed: true,
  async begin({ replicas, setClock }) {
    await setClock(HOUR);
    await until('the clock of the replica is ahead', () => Math.abs(aheadOf(replicas.at(-1)) - HOUR) < 60);
  },
  async end({ replicas, setClock }) {
    await setClock(0);
    await until('the clock of the replica is right again', () => Math.abs(aheadOf(replicas.at(-1))) < 60);
  },
};

/** Seconds by which the clock of a replica is ahead, by the time in the last line of its log. */
const aheadOf = (replica: Replica | undefined) =>
  (Date.parse(String(replica?.lastLine()?.['time'])) - Date.now()) / 1000;

const CACHE_FULL: Fault<BucketStage> = {
  name: 'no space for the thumbnail cache',
  lasts: true,
  isUnnoticed: true,
  whyNot: ({ cache }) => cache.whyUnbounded,
  async begin({ cache }) {
    await writeFile(join(cache.folder, 'full'), Buffer.alloc(cache.size)).then(
      () => assert.fail('There is space left.'),
      ({ code }) => assert.equal(code, 'ENOSPC'),
    );
  },
  end: ({ cache }) => rm(join(cache.folder, 'full')),
};

function interceptAll(links: BucketStage['links'], interceptor: Interceptor | undefined): void {
  for (const link of links) link.intercept(interceptor);
}

export const SHARED_FAULTS: readonly Fault<Stage>[] = [ROLLING_RESTART, killed()];

export const BUCKET_FAULTS: readonly Fault<CephStage>[] = [
  ROLLING_RESTART,
  STOPPED_UNTOLD,
  killedWhile('uploads', ({ operation }) => operation === 'UploadPart'),
  killedWhile('folder moves', ({ operation }) => operation === 'CopyObject'),
  killedWhile('thumbnails', ({ operation, key }) => operation === 'GetObject' && key?.endsWith('.jpg') === true),
  GATEWAY_KILLED,
  NETWORK_CUT,
  NETWORK_CUT_FOR_ONE,
  silent(),
  NETWORK_SLOW,
  CLOCK_SKEWED,
  CACHE_FULL,
];
