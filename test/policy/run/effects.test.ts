import { describe, expect, it } from 'vitest';
import { createEffects } from '../../../src/policy/run/effects.js';
import type { Effect } from '../../../src/policy/run/tool-policy.js';

/** Names of tools as servers and frameworks give them, by the effect that a person would expect. */
const NAMES: Readonly<Record<Effect, string>> = {
  read: `get_post list_orders read_mail search_mail get_send_status list_calls email_search getOrder get_thread list_messages
    search_threads get_event list_calendars get_free_busy find_contact lookup_customer search_files read_file list_directory
    get_file_info get_issue list_issues search_issues list_commits get_pull_request get_pull_request_files list_merge_requests
    list_open_issues get_open_orders get_workflow_run list_workflow_runs get_deploy list_deploys get_block_children
    API-retrieve-a-page API-post-search get_schedule get_share_link list_shared_files get_upload_url list_comments get_comment
    view_change_log get_update_history check_write_access list_forward_rules get_refund list_refunds get_transfer check_balance
    get_purchase_order search_books get_book list_push_notifications web_search browse_page fetch_page fetch_url
    describe_table list_tables query_database get_schema count_rows calculate_total translate_text summarize_document
    mcp__gmail__search_messages mcp__github__get_issue mcp__read-later__list mcp__post-office__get_rates email_list_folders
    mail.search order_lookup get_run_logs get_start_time get_pay_stubs list_invites get_bid_and_ask show_settings
    search_and_summarize get_eval_results get_terminal_output slack_get_channel_history`,
  write: `create_note update_record delete_file remove_label add_row edit_document write_file save_draft move_file rename_file
    append_row create_issue close_issue create_event cancel_event set_reminder mark_as_read archive_thread
    add_to_cart create_branch merge_pull_request open_pull_request open_issue find_and_replace
    mcp__read-later__save mcp__github__create_issue upsert_contact clear_cache assign_issue create_order_draft
    create_calendar_event get_or_create_label frobnicate`,
  send: `send_email send_mail reply_to_message forward_mail post_message slack_post_message mail.sendMessage publish_page
    share_document invite_user transfer_money pay_invoice upload_file submit_form book_flight buy_item notify_team
    get_and_send_mail check_and_forward ask_and_pay email_lookup_send email_search_results
    mcp__open-banking__transfer_money mcp__search-server__send_mail mcp__mail__reply create_and_publish
    add_collaborator set_forwarding_address create_webhook grant_access git_push`,
  execute: `run_code execute_query Bash run_command exec deploy_site install_package start_server kill_process
    download_and_run spawn_agent mcp__list-tools__run_script invoke_function`,
};

describe('names of tools', () => {
  const effects = createEffects();
  const names = Object.entries(NAMES).flatMap(([effect, list]) =>
    list.split(/\s+/).map((name) => [name, effect] as const),
  );
  it.each(names)('%s: %s', (name, effect) => {
    expect(effects.of(name).effect).toBe(effect);
  });
});

describe('annotations', () => {
  const known = (name: string, ...annotations: readonly object[]) => {
    const effects = createEffects();
    for (const each of annotations) effects.readDefinition(name, { name, annotations: each });
    return effects.of(name);
  };

  it('only raise what a name says', () => {
    expect(known('send_mail', { readOnlyHint: false, openWorldHint: false }).effect).toBe('send');
    expect(known('create_note', { readOnlyHint: true })).toEqual({ effect: 'write', why: 'name' });
    expect(known('get_thing', { readOnlyHint: false, openWorldHint: false })).toEqual({
      effect: 'write',
      why: 'annotation',
    });
    expect(known('get_thing', { readOnlyHint: true, destructiveHint: true }).effect).toBe('write');
    expect(known('frob', { readOnlyHint: true })).toEqual({ effect: 'read', why: 'annotation' });
    expect(known('frob', { title: 'Frob' }).why).toBe('unknown name');
  });

  it('mean by default that a tool which writes reaches others', () => {
    expect(known('create_note', { readOnlyHint: false }).effect).toBe('send');
  });

  it('are the gravest where servers differ', () => {
    const [reads, sends] = [{ readOnlyHint: true }, { readOnlyHint: false }];
    expect(known('frob', reads, sends).effect).toBe('send');
    expect(known('frob', sends, reads).effect).toBe('send');
  });
});
