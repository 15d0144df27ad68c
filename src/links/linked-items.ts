import { haveSameRoot, identifyItem } from '../model/item-identity.ts';
import { type FilePath, type FolderPath, isFolder, ROOT } from '../model/path.ts';
import type { Store } from '../model/store.ts';
import type { Link } from './link.ts';
import type { Links } from './links.ts';

type Path = FilePath | FolderPath;

export interface LinkedItemsOptions {
  readonly table: Links;
  /** Returns the identity of an item; undefined for stores whose items have none. */
  readonly identify: Store['identify'];
}

/**
 * Binds share links to their folders. Links follow the changes of Holdall by themselves. The identity of a folder also tells
 * that another program put another folder at its path. For files it would not: programs save a file by replacing it.
 */
export class LinkedItems {
  readonly #options: LinkedItemsOptions;

  constructor(options: LinkedItemsOptions) {
    this.#options = options;
  }

  /** Returns the identity of a folder to store with its link; undefined for files, and if it is unknown. */
  async identify(path: Path): Promise<string | undefined> {
    return isFolder(path) && path !== ROOT ? identifyItem(this.#options.identify, path) : undefined;
  }

  /**
   * Returns the link, as one that has ended if another folder has its path. If the root is another one too, as after moving all
   * files to another disk, binds the link to the folder at the path; so it does for a link that has no identity yet.
   */
  async check(link: Link): Promise<Link> {
    const { table, identify } = this.#options;
    if (!identify || link.ended !== undefined || !isFolder(link.path) || link.path === ROOT) return link;
    const found = await this.identify(link.path);
    if (found === link.identity) return link;
    if (found === undefined || haveSameRoot(found, link.identity)) return { ...link, ended: 'item' };
    await table.bind(link, found);
    return link;
  }
}
