/*
 * Public tus clients upload through nginx and three replicas, while connections break every second and replicas are killed: only
 * here do parts of one upload reach several services that die. It needs large files, because each part must be interrupted.
 */

import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { MIB } from '../faults/pattern.ts';
import { openUploadsToBranch, openUploadsToBucket, openUploadsToDisk } from '../replicas/upload-stages.ts';
import { type UploadClient, uploadFromNode, uploadUnderFaults } from '../replicas/uploads.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git', 'nginx', 'postgres', 'tuspy'];

const TUSPY = `
import sys, time
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError
_, url, path, file, chunk_size = sys.argv
# Each retry of tuspy calls itself.
sys.setrecursionlimit(100000)
uploader = TusClient(url).uploader(file, chunk_size=int(chunk_size), metadata={'path': path}, retries=1000, retry_delay=0.5)
while not uploader.url:
    try:
        uploader.set_url(uploader.create_url())
    except TusCommunicationError:
        time.sleep(0.5)
uploader.upload()
`;

const uploadFromPython: UploadClient = async ({ service, path, file, chunkSize }) => {
  const endpoint = `${service}/-/uploads`;
  await promisify(execFile)('/usr/bin/python3', ['-c', TUSPY, endpoint, path, file, String(chunkSize)]);
  return {};
};

const clients = [uploadFromNode, uploadFromPython];
const LARGE = { clients, large: 512 * MIB, small: { count: 20, maxBytes: 20 * MIB }, chunkSize: 64 * MIB };
/** Nearly as large as the database keeps for a branch. */
const BRANCH = { clients, large: 90 * MIB, small: { count: 10, maxBytes: 5 * MIB }, chunkSize: 8 * MIB };

for (const [name, open, trial] of [
  ['disk', openUploadsToDisk, LARGE],
  ['bucket', openUploadsToBucket, LARGE],
  ['branch', openUploadsToBranch, BRANCH],
] as const) {
  it(`tus-js-client and tuspy upload to a ${name} while connections break and replicas are killed`, async (t) => {
    t.diagnostic(JSON.stringify(await uploadUnderFaults(t, await open(t), trial)));
  });
}
