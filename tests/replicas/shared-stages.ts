import { MIB } from '../faults/pattern.ts';
import { untilNoDebris } from '../process/debris.ts';
import { atEnd, type Owner, temporaryFolder } from '../process/holdall.ts';
import { hostRepository } from '../servers/hosted-repository.ts';
import { settingsOfRepository } from '../servers/settings.ts';
import { type Stage, startReplicas } from './stage.ts';

/** Two replicas on one folder of the disk, as machines have it that share one. */
export async function openDiskStage(owner: Owner): Promise<Stage> {
  const root = await temporaryFolder(owner);
  const settings = { DISK_ROOT: root };
  return {
    ...(await startReplicas(owner, [settings, settings])),
    large: 17 * MIB,
    untilClean: () => untilNoDebris(root),
  };
}

/** Two replicas on one branch. When it ends, git has to find nothing wrong with the repository. */
export async function openBranchStage(owner: Owner): Promise<Stage> {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  atEnd(owner, () => hosted.remove());
  // A real host's would be spent within a minute: what is tried here is not that.
  Object.assign(hosted.host.quota, { limit: 1_000_000, remaining: 1_000_000 });
  // What one replica committed, the other is to show at once.
  const settings = { ...settingsOfRepository(hosted), GITHUB_TRUST: '0' };
  return {
    ...(await startReplicas(owner, [settings, settings])),
    // One that does not go into a commit's tree as it is.
    large: MIB,
    untilClean: async () => {},
  };
}
