import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { ariaKeys, keyLabel } from './keys.ts';
import { handleMenuKey } from './menu-keys.ts';
import { placeMenu } from './menu-place.ts';
import { type MenuGroup, type MenuItem, type OpenMenu, useMenus } from './menus.ts';
import { openModal } from './open-modal.ts';
import './menu.css';

/**
 * An open menu. It holds the focus and gives it back, closes by Escape, Tab, the back gesture and a click beside it,
 * and stays within the window; on a phone it is a sheet from below. It is a modal dialog because a popover opened from
 * another dialog would be inert.
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
    const place = () => placeMenu(list, menu.at);
    place();
    if (isByKeyboard) list.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    window.addEventListener('resize', place);
    return () => {
      window.removeEventListener('resize', place);
      closeLayer.current?.();
    };
  }, [menu]);

  // Returns the focus before the action runs, so that a dialog opened by the action can return it to the same element.
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
        // Closed by the browser alone; it says so late, when another menu may be open.
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
          else handleMenuKey(event);
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
      role={item.isChecked === undefined ? 'menuitem' : 'menuitemradio'}
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

/** Opens the context menu of the element below the closed menu. */
function passOn({ clientX, clientY }: MouseEvent): void {
  const init = { bubbles: true, cancelable: true, clientX, clientY, button: 2 };
  document.elementFromPoint(clientX, clientY)?.dispatchEvent(new MouseEvent('contextmenu', init));
}
