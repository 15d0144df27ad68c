import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { createPathCompletion, parseTypedPath } from '../../model/palette/path-completion.ts';
import { type RecentFile, readRecentFiles } from '../../model/places/recent-files.ts';
import { isFolderPath, parentOf, ROOT } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { isKey, keyLabel, PALETTE_KEYS } from '../../ui/keyboard.ts';
import { useModalDialog } from '../../ui/modal.ts';
import { type Action, useActions } from '../actions/use-actions.ts';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { useFolder, usePlaces, useRouter, useService } from '../models.ts';
import { type FoundItem, findItems, type PaletteItem, paletteItems, pathItems } from './palette-items.ts';
import './palette.css';

/** Returns the actions that the palette finds. */
type FindActions = () => readonly Omit<Action, 'isAvailable'>[];

/** Shows the palette. Runs the chosen item after the palette has returned the focus. By default, it finds all possible actions. */
export async function openPalette(dialogs: Dialogs, initial: string, findActions?: FindActions): Promise<void> {
  const item = await dialogs.open<PaletteItem>((close) => <Palette {...{ initial, findActions, close }} />);
  await new Promise(requestAnimationFrame);
  // The name field that had the focus is gone.
  if (document.activeElement === document.body) focusRegion('list');
  item?.run();
}

interface PaletteProps {
  initial: string;
  findActions: FindActions | undefined;
  close: (item: PaletteItem | null) => void;
}

/**
 * Finds actions, folders and files by a part of their names, and folders by their path
 * (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/). The keyboard focus stays in the field.
 */
function Palette({ initial, findActions, close }: PaletteProps) {
  const { dialog, listeners } = useModalDialog(() => close(null));
  const { text } = useFullLanguage();
  const listId = useId();
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState(initial);
  const [active, setActive] = useState(0);
  const { found, status } = useFound(query, findActions);
  const shown = found[Math.min(active, found.length - 1)];
  const index = shown ? found.indexOf(shown) : -1;
  useLayoutEffect(() => {
    field.current?.setSelectionRange(initial.length, initial.length);
  }, []);
  const change = (next: string) => {
    setQuery(next);
    setActive(0);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const by = MOVES[event.key];
    if (by !== undefined && found.length > 0) setActive(Math.max(0, Math.min(found.length - 1, index + by)));
    else if (event.key === 'Enter') {
      if (shown) close(shown.item);
    } else if (isKey(event, PALETTE_KEYS)) {
      close(null);
    } else if (event.key === 'Tab' && !event.shiftKey && shown?.item.completion !== undefined) {
      change(shown.item.completion);
    } else return;
    event.preventDefault();
  };

  return (
    <dialog ref={dialog} class="palette" aria-label={text.actions.palette} {...listeners}>
      <div class="query">
        <Icon name="search" />
        <input
          ref={field}
          type="text"
          role="combobox"
          dir="auto"
          autofocus
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          enterkeyhint="go"
          placeholder={text.palette.placeholder}
          aria-label={text.palette.placeholder}
          aria-autocomplete="list"
          aria-expanded={found.length > 0}
          aria-controls={listId}
          aria-activedescendant={index >= 0 ? `${listId}-${index}` : undefined}
          value={query}
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul id={listId} role="listbox" aria-label={text.palette.results}>
        {found.map(({ item, parts }, position) => (
          <Option
            key={item.id}
            id={`${listId}-${position}`}
            item={item}
            parts={parts}
            isActive={position === index}
            onChoose={() => close(item)}
          />
        ))}
      </ul>
      <p class={found.length > 0 ? 'visually-hidden' : 'status'} role="status">
        {status}
      </p>
    </dialog>
  );
}

/** The number of options that Page Up and Page Down move. */
const PAGE = 8;
const MOVES: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1, PageUp: -PAGE, PageDown: PAGE };

const NONE: readonly string[] = [];

/** Returns what a query finds, and the status for screen readers and for an empty list. */
function useFound(
  query: string,
  findActions: FindActions | undefined,
): { readonly found: readonly FoundItem[]; readonly status: string } {
  const language = useFullLanguage();
  const { text } = language;
  const service = useService();
  const router = useRouter();
  const places = usePlaces();
  const actions = useActions();
  const folder = useFolder();
  const [completion] = useState(() => createPathCompletion(service));
  const [recent, setRecent] = useState<readonly RecentFile[]>([]);
  const typed = parseTypedPath(query);
  const visited = places?.visited.items.value ?? [];
  const favourites = places?.favourites.items.value ?? [];

  useEffect(() => completion.end, [completion]);
  useEffect(() => {
    const ending = new AbortController();
    // Without the log of changes, the palette finds the files that the user opened.
    readRecentFiles(service, visited, ending.signal).then(setRecent, () => {});
    return () => ending.abort();
  }, []);
  // Without a path, the folders at the top are found too.
  const completed = typed?.folder ?? ROOT;
  useEffect(() => completion.open(completed), [completed]);

  const open = (path: string) =>
    isFolderPath(path) ? router.openFolder(path) : router.go({ folder: parentOf(path), preview: path });
  const all = folder.all.value;
  const { paths, state, problem } = completion.subfolders.value;
  const topFolders = typed ? NONE : paths;
  const items = useMemo(
    () =>
      paletteItems({
        text,
        // The palette itself is open already.
        actions:
          findActions?.() ?? actions.permitted().filter(({ id, isAvailable }) => id !== 'palette' && isAvailable()),
        favourites,
        visited,
        recent,
        topFolders,
        entries: all,
        folder: folder.path.value,
        open,
      }),
    [text, favourites, visited, recent, topFolders, all],
  );
  if (!typed) {
    const found = findItems(items, query.trim());
    return {
      found,
      status: found.length > 0 ? text.palette.found({ count: found.length }) : text.palette.none({ query }),
    };
  }
  const isKnown = state === 'ready';
  const [own, ...others] = pathItems(typed.folder, paths, { text, open });
  const found =
    isKnown && own ? (typed.rest === '' ? findItems([own, ...others], '') : findItems(others, typed.rest)) : [];
  const status = () => {
    if (problem) return problem.isNotFound ? text.problems.missing : language.reasonOf(problem);
    if (!isKnown) return text.folder.loading;
    return found.length > 0 ? text.palette.found({ count: found.length }) : text.palette.noFolder({ name: typed.rest });
  };
  return { found, status: status() };
}

interface OptionProps {
  id: string;
  item: PaletteItem;
  parts: FoundItem['parts'];
  isActive: boolean;
  onChoose: () => void;
}

function Option({ id, item, parts, isActive, onChoose }: OptionProps) {
  const element = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isActive]);
  return (
    <li ref={element} id={id} role="option" aria-selected={isActive} onClick={onChoose}>
      {item.entry ? <EntryIcon entry={item.entry} /> : item.icon && <Icon name={item.icon} />}
      <span class="truncated-name label">
        <bdi>{parts.map((part, index) => (part.isMatch ? <mark key={index}>{part.text}</mark> : part.text))}</bdi>
      </span>
      {item.detail !== undefined && (
        <span class="truncated-name detail">
          <bdi>{item.detail}</bdi>
        </span>
      )}
      {item.keys !== undefined && <kbd aria-hidden="true">{keyLabel(item.keys)}</kbd>}
    </li>
  );
}
