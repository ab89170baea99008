-- Answers from the files of the folder that is its argument: HAProxy has no way of its own to serve files larger than a buffer.

local www = ...

local function open(path)
	if path:find("..", 1, true) then
		return nil
	end
	local file = io.open(www .. path, "rb")
	if not file then
		return nil
	end
	-- A folder can be opened, but not read.
	local _, problem = file:read(0)
	if problem then
		file:close()
		return nil
	end
	return file
end

core.register_service("files", "http", function(applet)
	local file = open(applet.path)
	if not file then
		applet:set_status(404)
		applet:add_header("content-length", "0")
		applet:start_response()
		return
	end
	applet:set_status(200)
	applet:add_header("content-length", tostring(file:seek("end")))
	applet:add_header("content-type", "application/octet-stream")
	applet:start_response()
	file:seek("set")
	while true do
		local block = file:read(65536)
		if not block then
			break
		end
		-- Returns when all of it is in HAProxy's buffer.
		applet:send(block)
	end
	file:close()
end)
