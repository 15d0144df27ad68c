import { chmod } from 'node:fs/promises';
import { run } from '../../testing/processes.ts';
import type { Comparison, Contender } from './comparison.ts';
import { apacheDav, holdallDav, nginxDav, nginxSynchronous, rcloneDav, SYNCHRONOUS } from './dav-servers.ts';
import { type Duration, type ReadRequest, readContender, readRequests } from './reading.ts';
import type { BenchResponse } from './requests.ts';
import type { Server } from './servers.ts';
import { diskContenders, putUpload, uploadContender } from './small-uploads.ts';
import { entryNames, fillStage, planStage, type Stage, uploadBytes } from './stage.ts';
import { chooseTargets, type Setting, speedOver, type Target, type TargetGroup } from './target.ts';
import { copyContender, inPageCache, putContender, synced } from './uploading.ts';
import { connections } from './wrk.ts';

const PROPFIND = 'dav-propfind-1000';
const GET = 'dav-get-4KiB';
const SMALL_PUT = 'dav-put-4KiB';
const LARGE_PUT = 'dav-put-1GiB';

/** WebDAV on a disk. */
export const davTargets: TargetGroup = {
  ids: [PROPFIND, GET, SMALL_PUT, LARGE_PUT],
  // The file, the stored one, and the temporary one of servers that keep both for a moment.
  bytesNeeded: (chosen) => 2 ** 30 + (chosen.includes(LARGE_PUT) ? 3.25 * uploadBytes : 0),
  measure: async (setting, measureAll) => {
    const { chosen, folder, signal } = setting;
    const stage = planStage(folder);
    await fillStage(stage, chosen.includes(LARGE_PUT), signal);
    // Apache does not run as root.
    await chmod(folder, 0o711);
    for (const written of [stage.root, stage.incoming]) await chmod(written, 0o777);
    await measureAll(chooseTargets(planTargets(setting, stage), setting));
  },
};

const PEERS = [rcloneDav, apacheDav, nginxDav];

/** The peers that Holdall is compared with. nginx is the limit of a server without properties and locks. */
const COMPARED = [rcloneDav, apacheDav];

function planTargets({ duration, service }: Setting, stage: Stage): Target[] {
  const ours = holdallDav(service);
  const get = readRequests(stage).filter(({ id }) => id === 'get-4KiB');
  return [
    readTarget(PROPFIND, propfindRequest, [ours, ...COMPARED], stage, duration),
    ...get.map((request) => readTarget(GET, request, [ours, ...PEERS], stage, duration)),
    smallPutTarget(ours, stage, duration),
    largePutTarget(ours, stage),
  ];
}

function readTarget(
  id: string,
  request: ReadRequest,
  servers: readonly Server[],
  stage: Stage,
  duration: Duration,
): Target {
  const comparison: Comparison = {
    id,
    title: `${request.title} by WebDAV`,
    unit: 'requests/s',
    reference: rcloneDav.name,
    programs: ['wrk'],
    contenders: servers.map((server) => readContender(server, request, stage, duration)),
  };
  return { work: comparison.title, comparison, criteria: COMPARED.map(({ name }) => speedOver(name, 1)) };
}

const propfindRequest: ReadRequest = {
  id: PROPFIND,
  title: 'PROPFIND of 1,000 entries',
  headers: { depth: '1', 'content-type': 'application/xml' },
  method: {
    name: 'PROPFIND',
    body:
      '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>' +
      '<D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:propfind>',
  },
  status: 207,
  path: (server) => server.filePath('entries/'),
  prepare: async () => {},
  check: async (response) => checkMultistatus(response),
};

/** Throws unless the response has the folder and all 1,000 entries. Returns its length. */
function checkMultistatus({ body }: BenchResponse): string {
  const text = body.toString();
  const hrefs = new Set(Array.from(text.matchAll(/<(?:\w+:)?href>([^<]*)</g), ([, href = '']) => href));
  const missing = entryNames.filter((name) => {
    return ![...hrefs].some((href) => href.endsWith(`/${encodeURIComponent(name)}`));
  });
  const expected = entryNames.length + 1;
  if (missing.length > 0 || hrefs.size !== expected) {
    throw new Error(`${hrefs.size} of ${expected} responses, and ${missing.length} names are missing`);
  }
  for (const property of ['resourcetype', 'getcontentlength', 'getlastmodified', 'getetag']) {
    const count = text.match(new RegExp(`<(\\w+:)?${property}[ />]`, 'g'))?.length ?? 0;
    if (count < entryNames.length) throw new Error(`only ${count} ${property}`);
  }
  return `${Math.round(body.length / 1000)} kB`;
}

/** The name of a peer that is made durable. */
const durable = {
  [SMALL_PUT]: ({ name }: Server) => `${name}, synchronous folder`,
  [LARGE_PUT]: ({ name }: Server) => `${name} + sync`,
};

function smallPutTarget(ours: Server, stage: Stage, duration: Duration): Target {
  const nameOf = durable[SMALL_PUT];
  const comparison: Comparison = {
    id: SMALL_PUT,
    title: `PUT of files of 4 KiB by WebDAV, ${connections} concurrently`,
    unit: 'requests/s',
    reference: nameOf(rcloneDav),
    programs: ['wrk', 'chattr'],
    contenders: [
      uploadContender(ours.name, ours, putUpload(ours, 'fsync'), stage, duration),
      ...[rcloneDav, apacheDav, nginxSynchronous].map((peer) =>
        uploadContender(nameOf(peer), peer, putUpload(peer, 'flushed by ext4', makeSynchronous), stage, duration),
      ),
      ...PEERS.map((peer) => uploadContender(peer.name, peer, putUpload(peer, 'no fsync', allowAll), stage, duration)),
      ...diskContenders(stage, duration),
    ],
  };
  const criteria = COMPARED.map((peer) => speedOver(nameOf(peer), 1, ours.name));
  return { work: comparison.title, comparison, criteria };
}

function largePutTarget(ours: Server, stage: Stage): Target {
  const nameOf = durable[LARGE_PUT];
  const peers = PEERS.flatMap((server): Contender[] => [
    putContender({ name: nameOf(server), server, remark: synced, sync: true }, stage),
    putContender({ name: server.name, server, remark: inPageCache }, stage),
  ]);
  const comparison: Comparison = {
    id: LARGE_PUT,
    title: 'PUT of 1 GiB by WebDAV',
    unit: 'seconds',
    reference: rcloneDav.name,
    programs: ['curl', 'cmp'],
    contenders: [
      putContender({ name: ours.name, server: ours, remark: synced }, stage),
      ...peers,
      copyContender(stage),
    ],
  };
  const criteria = COMPARED.flatMap((peer) => [speedOver(nameOf(peer), 1), speedOver(peer.name, 1)]);
  return { work: comparison.title, comparison, criteria };
}

/** Makes ext4 flush each change in an empty folder. */
async function makeSynchronous(folder: string, signal: AbortSignal): Promise<void> {
  await allowAll(folder);
  await run({ file: 'chattr', args: [...SYNCHRONOUS, folder] }, signal);
}

const allowAll = (folder: string) => chmod(folder, 0o777);
