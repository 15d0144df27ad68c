import { useRef } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language-context.ts';
import { useToolbarFocus } from '../../ui/focus.ts';
import { MenuButton } from '../../ui/menus.tsx';
import { countWithin, NARROW, useFitting, useMedia } from '../../ui/responsive.ts';
import type { ActionId } from '../actions/action-list.ts';
import { useActions } from '../actions/actions.ts';
import { Tool } from './tool.tsx';

/** The actions that there is room for as buttons, the others in a menu. */
export function Tools({ isSelection }: { isSelection: boolean }) {
  const actions = useActions();
  const { text, tag } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const row = useRef<HTMLDivElement>(null);
  const focus = useToolbarFocus(row);

  const ids = useIds(isSelection);
  const ranked = BY_IMPORTANCE.filter((id) => ids.includes(id));
  const fitting = useFitting(row, isNarrow ? () => SLOTS : countFittingTools, [isNarrow, tag, ids.join()]);
  const shown = ranked.slice(0, fitting);
  const others = actions.menuGroups(shown.includes('upload') ? [...shown, 'uploadFolder'] : shown);

  return (
    <div ref={row} class="tools" role="toolbar" aria-label={text.shell.actions} {...focus}>
      {ids.map((id) => {
        const place = { rank: ranked.indexOf(id), isHidden: !shown.includes(id) };
        return id === 'upload' ? (
          <UploadTool key={id} {...place} isNarrow={isNarrow} />
        ) : (
          <Tool key={id} id={id} {...place} />
        );
      })}
      {others.length > 0 && (
        <MenuButton class="tool more" icon="more" label={text.controls.more} groups={() => others}>
          {text.controls.more}
        </MenuButton>
      )}
    </div>
  );
}

/** What there is a button for, in the order of the buttons. */
function useIds(isSelection: boolean): readonly ActionId[] {
  const actions = useActions().permitted();
  return (isSelection ? FOR_SELECTION : FOR_FOLDER).filter((id) => {
    const action = actions.find((candidate) => candidate.id === id);
    // While a folder is being read, what could soon be done again keeps its place.
    return action && (STANDING.includes(id) || action.isAvailable());
  });
}

const FOR_SELECTION: readonly ActionId[] = ['download', 'rename', 'moveTo', 'copyTo', 'copyLink', 'delete'];
const FOR_FOLDER: readonly ActionId[] = ['newFolder', 'upload', 'paste'];
const STANDING: readonly ActionId[] = FOR_FOLDER.slice(0, 2);

const BY_IMPORTANCE: readonly ActionId[] = [
  'newFolder',
  'upload',
  'paste',
  'download',
  'delete',
  'moveTo',
  'rename',
  'copyTo',
  'copyLink',
];

/** How many actions stand at the lower edge of a phone, beside the menu. */
const SLOTS = 4;

/** Pixels that are kept for the menu and for the gaps beside each tool. */
const MENU_WIDTH = 48;
const GAP = 4;

function countFittingTools(row: HTMLElement): number {
  const tools = [...row.querySelectorAll<HTMLElement>('[data-rank]')];
  const ranked = tools.toSorted((left, right) => Number(left.dataset['rank']) - Number(right.dataset['rank']));
  return countWithin(
    row.clientWidth - MENU_WIDTH,
    ranked.map(({ offsetWidth }) => offsetWidth + GAP),
  );
}

/** Uploads files at once, and folders by a menu beside it. On a phone the menu asks for either. */
function UploadTool({ rank, isHidden, isNarrow }: { rank: number; isHidden: boolean; isNarrow: boolean }) {
  const actions = useActions();
  const { text } = useLanguage();
  const groups = () => [
    actions
      .permitted()
      .filter(({ id }) => id === 'upload' || id === 'uploadFolder')
      .map((action) => ({ ...actions.menuItem(action), isDisabled: !action.isAvailable() })),
  ];
  if (isNarrow) {
    return (
      <MenuButton class="tool" icon="upload" label={text.shell.upload} groups={groups}>
        {text.shell.upload}
      </MenuButton>
    );
  }
  return (
    <div class={`split ${isHidden ? 'hidden' : ''}`} data-rank={rank}>
      <Tool id="upload" label={text.shell.upload} kind="primary" />
      <MenuButton class="tool primary" icon="chevron-down" label={text.shell.uploadMore} groups={groups} />
    </div>
  );
}
