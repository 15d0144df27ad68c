import { useLayoutEffect, useRef } from 'preact/hooks';
import { moveFocus } from './focus.ts';
import { Icon } from './icon.tsx';
import { isKey, isMac, keyLabel, PALETTE_KEYS, TypeAhead } from './keyboard.ts';
import { type MenuGroup, type MenuItem, type OpenMenu, useMenus } from './menus.tsx';
import { openModal } from './modal.ts';
import { placeBeside } from './placement.ts';
import './menu.css';

/**
 * An open menu. It keeps the focus inside and returns it when it closes. Escape, Tab, the back gesture and a click
 * outside close it. On a phone, it is a bottom sheet. It is a modal dialog because a popover opened from another
 * dialog would be inert.
 */
export function Menu({ menu }: { menu: OpenMenu }) {
  const menus = useMenus();
  const layer = useRef<HTMLDialogElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const closeLayer = useRef<() => void>(undefined);

  useLayoutEffect(() => {
    const [dialog, list] = [layer.current, panel.current];
    if (!dialog || !list) return;
    const isByKeyboard = document.activeElement?.matches(':focus-visible') ?? false;
    closeLayer.current = openModal(dialog);
    const place = () => placeBeside(list, menu.anchor);
    place();
    if (isByKeyboard) list.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    window.addEventListener('resize', place);
    return () => {
      window.removeEventListener('resize', place);
      closeLayer.current?.();
    };
  }, [menu]);

  // Returns the focus before the action runs, so a dialog opened by the action can return it to the same element.
  const close = () => {
    closeLayer.current?.();
    menus.close();
  };
  const choose = (item: MenuItem) => {
    if (item.isDisabled) return;
    close();
    item.run();
  };

  return (
    <dialog
      ref={layer}
      class="menu-layer"
      aria-label={menu.label}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={() => {
        // If the browser closes the dialog itself, this event arrives late: another menu can be open.
        if (layer.current?.open === false) menus.close();
      }}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) close();
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        if (event.target !== event.currentTarget) return;
        close();
        passOn(event);
      }}
    >
      <div
        ref={panel}
        class="menu"
        role="menu"
        aria-label={menu.label}
        tabIndex={-1}
        autofocus
        onKeyDown={(event) => {
          if (event.key === 'Tab') close();
          else if (isKey(event, PALETTE_KEYS)) {
            event.preventDefault();
            close();
            passKeyOn(event);
          } else handleMenuKey(event);
        }}
        onPointerLeave={() => panel.current?.focus({ preventScroll: true })}
      >
        <p class="title" aria-hidden="true">
          {menu.label}
        </p>
        {menu.groups.map((group, index) => (
          <Group key={index} group={group} choose={choose} />
        ))}
      </div>
    </dialog>
  );
}

function Group({ group, choose }: { group: MenuGroup; choose: (item: MenuItem) => void }) {
  const { label, items } = 'items' in group ? group : { label: undefined, items: group };
  if (items.length === 0) return null;
  return (
    <div class="group" role="group" aria-label={label}>
      {label !== undefined && (
        <p class="label" aria-hidden="true">
          {label}
        </p>
      )}
      {items.map((item) => (
        <Item key={item.id} item={item} choose={choose} />
      ))}
    </div>
  );
}

function Item({ item, choose }: { item: MenuItem; choose: (item: MenuItem) => void }) {
  const icon = item.isChecked === undefined ? item.icon : item.isChecked && 'check';
  return (
    <button
      class={item.isDangerous ? 'dangerous' : undefined}
      type="button"
      role={item.isChecked === undefined ? 'menuitem' : item.isToggle ? 'menuitemcheckbox' : 'menuitemradio'}
      aria-checked={item.isChecked}
      aria-disabled={item.isDisabled}
      aria-keyshortcuts={item.keys && ariaKeys(item.keys)}
      tabIndex={-1}
      onClick={() => choose(item)}
      onPointerMove={({ currentTarget }) => currentTarget.focus({ preventScroll: true })}
    >
      <span class="lead">{icon && <Icon name={icon} />}</span>
      <span class="name">{item.label}</span>
      {item.keys !== undefined && (
        <kbd class="shortcut" aria-hidden="true">
          {keyLabel(item.keys)}
        </kbd>
      )}
    </button>
  );
}

/** Returns keys as `aria-keyshortcuts` expects them: `Control+C`, or `Meta+C` on a Mac. */
function ariaKeys(keys: string): string {
  const words: Readonly<Record<string, string>> = { mod: isMac ? 'Meta' : 'Control', alt: 'Alt', shift: 'Shift' };
  const [key = '', ...modifiers] = keys.split('+').toReversed();
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toUpperCase() : key;
  return [...modifiers.map((modifier) => words[modifier] ?? modifier).toReversed(), name].join('+');
}

const typeAhead = new TypeAhead();

/** Moves the focus within a menu by the arrow keys, Home and End, and by typing the beginning of an item. */
function handleMenuKey(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]')];
  if (moveFocus(event, items, { previous: 'ArrowUp', next: 'ArrowDown' })) return;
  const { key, ctrlKey, metaKey, altKey } = event;
  if (key.length > 1 || key === ' ' || ctrlKey || metaKey || altKey) return;
  const current = items.findIndex((item) => item === document.activeElement);
  const found = typeAhead.find(event, current, items.length, (index) => items[index]?.textContent.trim());
  if (found < 0) return;
  event.preventDefault();
  event.stopPropagation();
  items[found]?.focus();
}

/** Passes a key to the element that has the focus again. */
function passKeyOn(event: KeyboardEvent): void {
  document.activeElement?.dispatchEvent(new KeyboardEvent(event.type, event));
}

/** Opens the context menu of the element below the closed menu. */
function passOn({ clientX, clientY }: MouseEvent): void {
  const init = { bubbles: true, cancelable: true, clientX, clientY, button: 2 };
  document.elementFromPoint(clientX, clientY)?.dispatchEvent(new MouseEvent('contextmenu', init));
}
