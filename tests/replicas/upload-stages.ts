import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { startPostgres } from '../../testing/servers/postgres.ts';
import { settingsOf, settingsOfRepository } from '../../testing/servers/settings.ts';
import { until } from '../../testing/until.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { type Stage, startReplicas } from './stage.ts';

/** Three replicas with a common database, which receive resumable uploads. */
export interface UploadStage extends Pick<Stage, 'port' | 'replicas' | 'nginx'> {
  /** Returns the rows of uploads. */
  uploads(): Promise<readonly { readonly id: string; readonly isFinished: boolean }[]>;
  /**
   * Waits until nothing of an upload remains: no temporary files, objects, parts or rows with content. A replica that is killed
   * between beginning a multipart upload and recording it leaves one without parts, so at most `kills` of these can remain.
   */
  untilClean(kills: number): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

const COUNT = 3;

export async function openUploadsToDisk(owner: Owner, more: Settings = {}): Promise<UploadStage> {
  const root = await temporaryFolder(owner);
  return openStage(owner, { DISK_ROOT: root, ...more }, async () => {
    await untilNoTemporaryFiles(root);
    assert.deepEqual(await readdir(join(root, '.holdall/uploads')), []);
  });
}

export async function openUploadsToBucket(owner: Owner, more: Settings = {}): Promise<UploadStage> {
  const bucket = await createBucket();
  atEnd(owner, () => bucket.remove());
  const settings = { ...settingsOf(bucket), ...more };
  return openStage(owner, settings, async (kills) => {
    let parts: readonly string[] = [];
    await until(
      () => `no part of an upload remains: ${parts.join(', ')}`,
      async () => (parts = await bucket.openParts()).length === 0,
    );
    const open = await bucket.openUploads();
    assert.ok(open.length <= kills, `${kills} kills, and these multipart uploads remain: ${open.join(', ')}`);
    const own = (await bucket.keys()).filter((key) => key.startsWith('.holdall/uploads/'));
    assert.deepEqual(own, []);
  });
}

export async function openUploadsToBranch(owner: Owner, more: Settings = {}): Promise<UploadStage> {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  atEnd(owner, () => hosted.remove());
  Object.assign(hosted.host.quota, { limit: 1_000_000, remaining: 1_000_000 });
  return openStage(owner, { ...settingsOfRepository(hosted), GITHUB_TRUST: '0', ...more }, async () => {});
}

async function openStage(
  owner: Owner,
  settings: Settings,
  untilStoreIsClean: (kills: number) => Promise<void>,
): Promise<UploadStage> {
  const postgres = await startPostgres();
  atEnd(owner, () => postgres.stop());
  const database = await postgres.createDatabase();
  const shared = {
    ...settings,
    DATABASE_URL: database,
    SIGNING_KEY: 'k'.repeat(32),
    TRASH_DAYS: '0',
    VERSIONS_DAYS: '0',
  };
  const stage = await startReplicas(
    owner,
    Array.from({ length: COUNT }, () => shared),
  );
  return {
    ...stage,
    async uploads() {
      const rows = await postgres.query(database, 'select id, etag from uploads');
      return rows.map(({ id, etag }) => ({ id: String(id), isFinished: etag !== null }));
    },
    async untilClean(kills) {
      await untilStoreIsClean(kills);
      for (const table of ['upload_contents', 'upload_chunks']) {
        assert.deepEqual(await postgres.query(database, `select upload_id from ${table}`), [], table);
      }
    },
  };
}
