import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { startPostgres } from '../../testing/servers/postgres.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { MIB } from '../faults/pattern.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { WITHOUT_POLLS } from '../process/without-polls.ts';
import { type Stage, startReplicas } from './stage.ts';

/** Starts two replicas on one folder of a disk, like machines with a shared disk. */
export function openDiskStage(owner: Owner): Promise<Stage> {
  return startOnDisk(owner, 2, {});
}

/** Starts two replicas on one folder, with a PostgreSQL database that they share and don't poll. */
export async function openDatabaseStage(owner: Owner): Promise<Stage> {
  const postgres = await startPostgres();
  atEnd(owner, () => postgres.stop());
  return startOnDisk(owner, 2, { DATABASE_URL: await postgres.createDatabase(), ...WITHOUT_POLLS });
}

async function startOnDisk(owner: Owner, count: number, shared: Readonly<Record<string, string>>): Promise<Stage> {
  const root = await temporaryFolder(owner);
  const settings = Array.from({ length: count }, () => ({ DISK_ROOT: root, ...shared }));
  return {
    ...(await startReplicas(owner, settings)),
    large: 17 * MIB,
    untilClean: () => untilNoTemporaryFiles(root),
  };
}

/** Starts two replicas on one branch. `git fsck` must find no error in the repository at the end. */
export async function openBranchStage(owner: Owner): Promise<Stage> {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  atEnd(owner, () => hosted.remove());
  // The rate limit of GitHub is not the subject, and the load would exceed it within a minute.
  Object.assign(hosted.host.quota, { limit: 1_000_000, remaining: 1_000_000 });
  // Each replica must show the commits of the other at once.
  const settings = { ...settingsOfRepository(hosted), GITHUB_TRUST: '0' };
  return {
    ...(await startReplicas(owner, [settings, settings])),
    // Too large to be sent within a tree.
    large: MIB,
    untilClean: async () => {},
  };
}
