// SPDX-License-Identifier: Apache-2.0
// Starts `dhpvmc lsp` for sources of DHPVM's language, and gives VS Code what it answers. Stands on VS Code's own
// interface alone, without the client library that other extensions bring with them.
"use strict";

const vscode = require("vscode");
const { Client } = require("./client.js");

const LANGUAGE = "dhp";

let client = null; // while the server runs
let diagnostics = null;

// ---- From the protocol's values to the editor's. Numbers of kinds begin at 1 there, and mostly at 0 here.

const position = (p) => new vscode.Position(p.line, p.character);
const range = (r) => new vscode.Range(position(r.start), position(r.end));
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const textEdit = (e) => new vscode.TextEdit(range(e.range), e.newText);
const markup = (m) => new vscode.MarkdownString(typeof m === "string" ? m : m.value);
const list = (found) => (Array.isArray(found) ? found : found ? [found] : []);

function diagnostic(d) {
  const made = new vscode.Diagnostic(range(d.range), d.message, (d.severity || 1) - 1);
  made.source = d.source;
  made.code = d.code;
  made.relatedInformation = (d.relatedInformation || []).map(
    (r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message),
  );
  return made;
}

function workspaceEdit(e) {
  const made = new vscode.WorkspaceEdit();
  const set = (uri, edits) => made.set(vscode.Uri.parse(uri), edits.map(textEdit));
  for (const [uri, edits] of Object.entries(e.changes || {})) set(uri, edits);
  for (const change of e.documentChanges || []) set(change.textDocument.uri, change.edits);
  return made;
}

function completionItem(i) {
  const made = new vscode.CompletionItem(i.label, (i.kind || 1) - 1);
  made.detail = i.detail;
  made.sortText = i.sortText;
  made.filterText = i.filterText;
  if (i.documentation) made.documentation = markup(i.documentation);
  const text = i.textEdit ? i.textEdit.newText : i.insertText;
  if (text !== undefined) made.insertText = i.insertTextFormat === 2 ? new vscode.SnippetString(text) : text;
  if (i.textEdit) made.range = range(i.textEdit.range || i.textEdit.replace);
  if (i.additionalTextEdits) made.additionalTextEdits = i.additionalTextEdits.map(textEdit);
  return made;
}

function signatureHelp(h) {
  const made = new vscode.SignatureHelp();
  made.activeSignature = h.activeSignature || 0;
  made.activeParameter = h.activeParameter || 0;
  made.signatures = h.signatures.map((s) => {
    const signature = new vscode.SignatureInformation(s.label, s.documentation && markup(s.documentation));
    signature.parameters = (s.parameters || []).map((p) => new vscode.ParameterInformation(p.label));
    return signature;
  });
  return made;
}

function documentSymbol(s) {
  const made = new vscode.DocumentSymbol(
    s.name, s.detail || "", s.kind - 1, range(s.range), range(s.selectionRange));
  made.children = (s.children || []).map(documentSymbol);
  return made;
}

function codeAction(a) {
  const made = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
  made.isPreferred = a.isPreferred;
  if (a.edit) made.edit = workspaceEdit(a.edit);
  return made;
}

// ---- From the editor's values to the protocol's.

const document = (d) => ({ textDocument: { uri: d.uri.toString() } });
const place = (d, p) => ({ ...document(d), position: { line: p.line, character: p.character } });
const fromPosition = (p) => ({ line: p.line, character: p.character });
const fromRange = (r) => ({ start: fromPosition(r.start), end: fromPosition(r.end) });
const fromDiagnostic = (d) => ({
  range: fromRange(d.range), message: d.message, severity: d.severity + 1, source: d.source, code: d.code,
});

// Asks the server. Only renaming shows what it refuses: while somebody types, most sources are wrong.
async function ask(method, params, token, make) {
  if (client === null) return null;
  try {
    const found = await client.request(method, params, token);
    return found === null || found === undefined ? null : make(found);
  } catch {
    return null;
  }
}

function providers() {
  const at = (method, make) => (d, p, token) => ask(`textDocument/${method}`, place(d, p), token, make);
  const locations = (found) => list(found).map(location);
  const l = vscode.languages;
  return [
    l.registerCompletionItemProvider(
      LANGUAGE,
      { provideCompletionItems: at("completion", (found) => (found.items || found).map(completionItem)) },
      "."),
    l.registerHoverProvider(LANGUAGE, {
      provideHover: at("hover", (h) => new vscode.Hover(markup(h.contents), h.range && range(h.range))),
    }),
    l.registerSignatureHelpProvider(LANGUAGE, { provideSignatureHelp: at("signatureHelp", signatureHelp) }, "(", ","),
    l.registerDefinitionProvider(LANGUAGE, { provideDefinition: at("definition", locations) }),
    l.registerTypeDefinitionProvider(LANGUAGE, { provideTypeDefinition: at("typeDefinition", locations) }),
    l.registerReferenceProvider(LANGUAGE, {
      provideReferences: (d, p, context, token) =>
        ask("textDocument/references", { ...place(d, p), context }, token, locations),
    }),
    l.registerDocumentHighlightProvider(LANGUAGE, {
      provideDocumentHighlights: at("documentHighlight", (found) =>
        found.map((h) => new vscode.DocumentHighlight(range(h.range), (h.kind || 1) - 1))),
    }),
    l.registerRenameProvider(LANGUAGE, {
      // Why a name cannot be changed is for the user to read.
      prepareRename: async (d, p, token) => {
        const found = client && (await client.request("textDocument/prepareRename", place(d, p), token));
        if (!found) throw new Error("there is no name here that can be changed");
        return found.range ? { range: range(found.range), placeholder: found.placeholder } : range(found);
      },
      provideRenameEdits: async (d, p, newName, token) =>
        client && workspaceEdit(await client.request("textDocument/rename", { ...place(d, p), newName }, token)),
    }),
    l.registerDocumentSymbolProvider(LANGUAGE, {
      provideDocumentSymbols: (d, token) =>
        ask("textDocument/documentSymbol", document(d), token, (found) => found.map(documentSymbol)),
    }),
    l.registerWorkspaceSymbolProvider({
      provideWorkspaceSymbols: (query, token) =>
        ask("workspace/symbol", { query }, token, (found) =>
          found.map((s) => new vscode.SymbolInformation(
            s.name, s.kind - 1, s.containerName || "", location(s.location)))),
    }),
    l.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: (d, options, token) =>
        ask("textDocument/formatting", { ...document(d), options }, token, (found) => found.map(textEdit)),
    }),
    l.registerInlayHintsProvider(LANGUAGE, {
      provideInlayHints: (d, r, token) =>
        ask("textDocument/inlayHint", { ...document(d), range: fromRange(r) }, token, (found) =>
          found.map((h) => {
            const hint = new vscode.InlayHint(position(h.position), h.label, h.kind);
            hint.paddingLeft = h.paddingLeft;
            hint.paddingRight = h.paddingRight;
            return hint;
          })),
    }),
    l.registerCodeActionsProvider(LANGUAGE, {
      provideCodeActions: (d, r, context, token) =>
        ask(
          "textDocument/codeAction",
          {
            ...document(d), range: fromRange(r),
            context: { diagnostics: context.diagnostics.map(fromDiagnostic) },
          },
          token, (found) => found.map(codeAction)),
    }),
  ];
}

// ---- Documents: the server works on what the editor shows, not on files.

function opened(d) {
  if (client === null || d.languageId !== LANGUAGE) return;
  client.notify("textDocument/didOpen", {
    textDocument: { uri: d.uri.toString(), languageId: LANGUAGE, version: d.version, text: d.getText() },
  });
}

function watchDocuments() {
  const mine = (d) => client !== null && d.languageId === LANGUAGE;
  const w = vscode.workspace;
  return [
    w.onDidOpenTextDocument(opened),
    w.onDidChangeTextDocument(({ document: d, contentChanges }) => {
      if (!mine(d) || contentChanges.length === 0) return;
      client.notify("textDocument/didChange", {
        textDocument: { uri: d.uri.toString(), version: d.version },
        contentChanges: contentChanges.map((c) => ({ range: fromRange(c.range), text: c.text })),
      });
    }),
    w.onDidSaveTextDocument((d) => mine(d) && client.notify("textDocument/didSave", document(d))),
    w.onDidCloseTextDocument((d) => {
      if (!mine(d)) return;
      client.notify("textDocument/didClose", document(d));
      diagnostics.delete(d.uri);
    }),
  ];
}

async function start() {
  const settings = vscode.workspace.getConfiguration("dhpvm");
  const command = settings.get("compiler") || "dhpvmc";
  const folders = (settings.get("importPaths") || []).flatMap((folder) => ["-I", folder]);
  const started = new Client(command, ["lsp", ...folders], (error) => {
    if (client === started) client = null;
    diagnostics.clear();
    vscode.window.showErrorMessage(
      `DHPVM's language server does not run: ${error.message}. The setting dhpvm.compiler says where dhpvmc is.`);
  });
  started.onNotification("textDocument/publishDiagnostics", ({ uri, diagnostics: found }) =>
    diagnostics.set(vscode.Uri.parse(uri), found.map(diagnostic)));
  const workspaceFolders = (vscode.workspace.workspaceFolders || []).map((folder) => ({
    uri: folder.uri.toString(), name: folder.name,
  }));
  try {
    await started.request("initialize", { processId: process.pid, rootUri: null, capabilities: {}, workspaceFolders });
  } catch {
    return; // the user has been told
  }
  started.notify("initialized", {});
  client = started;
  vscode.workspace.textDocuments.forEach(opened);
}

async function stop() {
  const ended = client;
  client = null;
  if (ended !== null) await ended.stop();
}

async function activate(context) {
  diagnostics = vscode.languages.createDiagnosticCollection("dhpvm");
  context.subscriptions.push(
    diagnostics, ...watchDocuments(), ...providers(),
    vscode.commands.registerCommand("dhpvm.restartServer", async () => {
      await stop();
      diagnostics.clear();
      await start();
    }));
  await start();
}

module.exports = { activate, deactivate: stop };
